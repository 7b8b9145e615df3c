// An executor for any geometry without weights: for data-plane work at sizes that no test machine
// can compute. What it says is not language, and every output that shows it must say "synthetic".
//
// Like a model: KV bytes depend on the tokens; the next token depends on the KV bytes of the whole
// context; split and colocated execution, any chunking and any TP degree give the same tokens.
// Unlike a model: it can tell that a KV byte is wrong, and then refuses to answer.
#pragma once

#include "gpu/executor.hpp"

#include <cstdint>
#include <memory>

namespace baton::gpu {

struct synthetic_options {
  geometry shape;
  std::int64_t prefill_token_us = 0; ///< pretended compute time of one prompt token
  std::int64_t decode_step_us = 0;   ///< of one step, however many sequences decode in it
  std::uint32_t rows_max = 16'384;   ///< tokens of one plan, all slices together
};

inline constexpr const char* synthetic_executor_name = "synthetic";

/// An executor over `arena`, which must outlive it and hold arena.blocks blocks of
/// block_bytes(options.shape). Fails with bad_input, naming the field.
///
/// run():
/// * tokens: reads what earlier plans left in [0, start), fails with corrupt if that is no KV of
///   those positions, writes the KV bytes of the tokens;
/// * resume with a context (the prompt, exactly start tokens): verifies every KV byte of
///   [0, start) and the resume state first; corrupt names block, layer, head and position;
/// * hidden: float[hidden], whole numbers below 2^20, a hash of the context's tokens;
/// * returns when the pretended time is over, counted from its start, or at once when poisoned.
///   One-token slices behind position 0 are decode steps, other tokens are prefill.
protocol::outcome<std::unique_ptr<executor>> make_synthetic_executor(
  const synthetic_options& options, kv_arena arena);

} // namespace baton::gpu
