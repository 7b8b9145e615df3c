// The Llama forward pass on the CPU: chunked prefill and batched decode, mixed in one plan.
//
// Every value is computed by one fixed expression tree that does not depend on the chunk, the rest
// of the batch, the block table, the number of threads or (over 1, 2 and 4) the TP degree. So a
// sequence's logits and KV bytes are the same bits wherever and however it is computed.
#pragma once

#include "gpu/cpu/collective.hpp"
#include "gpu/executor.hpp"
#include "gpu/model.hpp"

#include <cstdint>
#include <memory>

namespace baton::gpu {

enum class kv_dtype : std::uint8_t { f32, bf16 };

/// How one rank takes part.
struct rank_options {
  std::uint32_t tp_rank = 0;
  std::uint32_t tp_degree = 1; ///< 1, 2 or 4, and a divisor of kv_heads
  kv_dtype kv = kv_dtype::bf16;
  std::uint32_t block_tokens = 16;
  std::uint32_t threads = 1;
  std::uint32_t rows_max = 8192; ///< tokens of one plan, all slices together
};

/// The geometry of one rank, before any arena exists: block_bytes(geometry) sizes the arena. Fails
/// with unsupported, naming the field, when the model cannot be split in this way.
protocol::outcome<geometry> rank_geometry(const model_config& config, const rank_options& options);

/// One rank's share of the weights, repacked for the kernels. Packing reads every weight once; keep
/// the result to build a new executor quickly after a group was poisoned.
class rank_weights;
protocol::outcome<std::shared_ptr<const rank_weights>>
pack_rank_weights(std::shared_ptr<const model> model, const rank_options& options);

/// An executor over packed weights. `arena` must outlive it and hold `arena.blocks` blocks of
/// block_bytes(rank_geometry). `group` is required for tp_degree > 1 and must have that many ranks
/// and this rank's number; it must outlive the executor, which poisons it but does not own it.
protocol::outcome<std::unique_ptr<executor>>
make_llama_executor(std::shared_ptr<const rank_weights> weights, const rank_options& options,
                    kv_arena arena, collective* group);

/// The same from a model, packing its weights first.
protocol::outcome<std::unique_ptr<executor>>
make_llama_executor(std::shared_ptr<const model> model, const rank_options& options,
                    kv_arena arena, collective* group);

} // namespace baton::gpu
