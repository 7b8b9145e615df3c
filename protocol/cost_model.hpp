// What a request costs, before it starts: bytes, time to its first token, the length of its lease.
// Estimates for admission; nothing here is evidence of anything.
//
//   queue ─▶ prefill ──────────────────▶│
//              └─ chunk 1 ─▶ transfer ──────────▶│─▶ commit and first step ─▶ first token
//
// GB/s are decimal; GiB are powers of 1,024.
#pragma once

#include "protocol/cost_rates.hpp"
#include "protocol/head_map.hpp"
#include "protocol/outcome.hpp"

#include <cstdint>

namespace baton::protocol {

/// 2 (k, v) * layers * kv_heads * head_dim * element_bytes: of all ranks together.
std::uint64_t bytes_per_token(const block_shape& shape);

/// Blocks that hold `tokens`: rounded up. block_tokens > 0.
std::uint64_t blocks_for_tokens(std::uint64_t tokens, std::uint32_t block_tokens);

/// The charge of a reservation, all ranks: prompt and output budget, rounded up to blocks together.
std::uint64_t reserved_bytes(const block_shape& shape, std::uint32_t prompt_tokens,
                             std::uint32_t output_tokens);

/// bytes / rate. `bytes_per_s` is the rate of the whole path: shards that share a bottleneck share
/// it, they do not each have it. Infinite for a rate of 0.
double transfer_ms(std::uint64_t bytes, double bytes_per_s);

double prefill_ms(const cost_rates& rates, std::uint32_t prompt_tokens);

/// One step of `sequences` that decode together: a plan runs one after the other.
double step_ms(const cost_rates& rates, std::uint32_t sequences);

/// One request's path to its first token. Times count from the start of prefill but queue_ms.
struct handoff_timeline {
  double queue_ms = 0;    ///< before prefill
  double prefill_ms = 0;
  double transfer_begin_ms = 0; ///< prefill_ms: serial; less: overlapped
  double transfer_ms = 0;
  double first_step_ms = 0; ///< commit and the first decode step, after both have ended
};

/// Request start to first token: queue + max(prefill, transfer's end) + first step.
double first_token_ms(const handoff_timeline& t);

/// Length of the union of the active spans (prefill, transfer, first step). It omits the queue and
/// any gap, so it is not a time to first token.
double active_union_ms(const handoff_timeline& t);

/// What admission knows about a prefill group, a link and a decode group.
struct load_estimate {
  double queue_ms = 0; ///< work that is before this request
  double prefill_ms_per_token = 0;
  std::uint32_t prefill_chunk_tokens = 0; ///< 0: transfer starts after prefill
  double bytes_per_s = 0;
  double first_step_ms = 0;
  double further_steps_ms = 0; ///< tokens after the first that are sure to come; 0: none is
};

/// Time to first token of a prompt that is streamed chunk by chunk. With equal chunks of compute
/// time c and transfer time t, n of each, the pipeline ends at max(n c + t, c + n t).
double estimate_first_token_ms(const load_estimate& load, std::uint32_t prompt_tokens,
                               std::uint64_t bytes);

/// deadline_infeasible with every term of the estimate when first token and further steps take
/// longer than `remaining_ms`; 0 means that there is no deadline.
failure check_deadline(const load_estimate& load, std::uint32_t prompt_tokens,
                       std::uint64_t bytes, std::int64_t remaining_ms);

struct lease_bounds {
  std::int64_t ms_min = 0;
  std::int64_t ms_max = 0;
};

/// lease_safety_factor * (prefill_ms + bytes / rate), within the bounds; the upper bound for a rate
/// of 0. Counts from the grant, so that prefill is inside.
std::int64_t lease_ms(std::uint64_t bytes, std::uint64_t bytes_per_s, std::int64_t prefill_ms,
                      lease_bounds bounds);

} // namespace baton::protocol
