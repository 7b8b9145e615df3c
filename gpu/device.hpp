// The contract of a compute device: it executes numbered step plans, in order, and says what has
// happened. Enqueue is not completion. The device knows nothing of requests.
#pragma once

#include "protocol/ids.hpp"
#include "protocol/outcome.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace baton::gpu {

/// How the next token is chosen. Draws are keyed by (seed, position), so that every rank and every
/// later owner of the sequence draws the same number.
struct sampling {
  float temperature = 0.0F; ///< 0: greedy (lowest id wins a tie)
  float top_p = 1.0F;
  std::uint32_t top_k = 0; ///< 0: no limit
  std::uint64_t seed = 0;
};

/// One sequence's part in a step: `tokens` take positions [start, start + tokens.size()).
struct slice {
  std::uint64_t sequence = 0;       ///< the caller's tag, returned in the result
  std::vector<std::int32_t> tokens; ///< empty when `resume` is set
  std::uint32_t start = 0;
  /// Physical block of each logical block, in order; covers at least start + tokens.size() tokens.
  std::vector<std::uint32_t> blocks;
  std::optional<sampling> sample; ///< set: choose the token that follows the last position
  bool want_hidden = false; ///< return the last position's final hidden state (before the norm)
  bool want_logits = false; ///< return the last position's logits
  /// Not empty: run no layer; apply final norm and LM head to this hidden state of position
  /// start - 1, as handed over by a prefill group. float[hidden]
  std::vector<float> resume;
  /// Only for executors that verify what they were handed: the prompt, positions [0, start).
  std::vector<std::int32_t> context;
};

/// What a group's leader asks of every rank at once. All ranks execute equal plans in equal order.
struct step_plan {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::vector<slice> slices;
};

struct slice_result {
  std::uint64_t sequence = 0;
  std::optional<std::int32_t> token;
  std::vector<float> hidden; ///< float[hidden], if wanted
  std::vector<float> logits; ///< float[vocab], if wanted; only on rank 0
};

/// Every slice's kernels have run; their KV writes are visible to the host.
struct plan_completed {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::vector<slice_result> results;
  std::int64_t compute_ns = 0;
};

/// The plan did not run to its end and never will. Its blocks hold undefined bytes, and nothing
/// of this plan writes or reads any more.
struct plan_failed {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  protocol::failure error;
};

/// Every plan enqueued before the matching quiesce(tag) has completed or failed: no kernel of
/// them reads or writes any more.
struct device_quiesced {
  std::uint64_t tag = 0;
};

using device_event = std::variant<plan_completed, plan_failed, device_quiesced>;
/// Called on the device's own thread; must not block.
using device_sink = std::function<void(device_event)>;

/// One rank's compute device. All members may be called from any thread and never block.
class device {
public:
  virtual ~device() = default;

  /// Queues a plan behind those before it. Exactly one plan_completed or plan_failed follows.
  virtual void enqueue(step_plan plan) = 0;

  /// Asks for device_quiesced{tag} once everything enqueued so far has ended.
  virtual void quiesce(std::uint64_t tag) = 0;

  /// Ends the group's epoch on this rank: running collectives give up, queued plans fail with
  /// group_poisoned. Idempotent.
  virtual void poison(std::uint64_t epoch, std::string why) = 0;
};

/// What a device's KV blocks and model look like: the shape half of a transfer manifest.
struct geometry {
  std::uint32_t layers = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0; ///< of the whole model; one rank holds kv_heads / tp_degree
  std::uint32_t head_dim = 0;
  std::uint32_t hidden = 0;
  std::uint32_t vocab = 0;
  std::uint32_t max_positions = 0;
  std::uint32_t block_tokens = 16;
  std::uint32_t kv_element_bytes = 2; ///< 2: bf16, 4: f32
  std::uint32_t tp_rank = 0;
  std::uint32_t tp_degree = 1;
};

/// Bytes of one KV block on one rank, layout [layer][k|v][kv_head][token][head_dim].
constexpr std::uint64_t block_bytes(const geometry& g) {
  return std::uint64_t{g.layers} * 2 * (g.kv_heads / g.tp_degree) * g.block_tokens * g.head_dim
         * g.kv_element_bytes;
}

/// The memory that holds a rank's KV blocks: block b lies at base + b * block_bytes(geometry).
/// The arena belongs to the node, which also hands it to the transfer device.
struct kv_arena {
  std::byte* base = nullptr;
  std::uint32_t blocks = 0;
};

} // namespace baton::gpu
