#include "protocol/cost_model.hpp"

#include "protocol/assert.hpp"
#include "protocol/limits.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace baton::protocol {

namespace {

constexpr double ms_per_s = 1000.0;
constexpr double us_per_ms = 1000.0;

std::string with_one_decimal(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

} // namespace

std::uint64_t bytes_per_token(const block_shape& shape) {
  return std::uint64_t{2} * shape.layers * shape.kv_heads * shape.head_dim * shape.element_bytes;
}

std::uint64_t blocks_for_tokens(std::uint64_t tokens, std::uint32_t block_tokens) {
  BATON_ASSERT(block_tokens > 0);
  return (tokens + block_tokens - 1) / block_tokens;
}

std::uint64_t reserved_bytes(const block_shape& shape, std::uint32_t prompt_tokens,
                             std::uint32_t output_tokens) {
  const std::uint64_t tokens = std::uint64_t{prompt_tokens} + output_tokens;
  return blocks_for_tokens(tokens, shape.block_tokens) * shape.block_tokens
         * bytes_per_token(shape);
}

double transfer_ms(std::uint64_t bytes, double bytes_per_s) {
  if (bytes == 0)
    return 0.0;
  if (bytes_per_s <= 0.0)
    return std::numeric_limits<double>::infinity();
  return static_cast<double>(bytes) / bytes_per_s * ms_per_s;
}

double prefill_ms(const cost_rates& rates, std::uint32_t prompt_tokens) {
  return static_cast<double>(rates.prefill_us_per_token) * prompt_tokens / us_per_ms;
}

double step_ms(const cost_rates& rates, std::uint32_t sequences) {
  return static_cast<double>(rates.decode_us_per_token) * sequences / us_per_ms;
}

double first_token_ms(const handoff_timeline& t) {
  const double ready = std::max(t.prefill_ms, t.transfer_begin_ms + t.transfer_ms);
  return t.queue_ms + ready + t.first_step_ms;
}

double active_union_ms(const handoff_timeline& t) {
  const double gap = std::max(0.0, t.transfer_begin_ms - t.prefill_ms);
  return first_token_ms(t) - t.queue_ms - gap;
}

double estimate_first_token_ms(const load_estimate& load, std::uint32_t prompt_tokens,
                               std::uint64_t bytes) {
  const std::uint32_t chunk = load.prefill_chunk_tokens == 0
                                ? prompt_tokens
                                : std::min(load.prefill_chunk_tokens, prompt_tokens);
  const double share = prompt_tokens == 0 ? 1.0 : static_cast<double>(chunk) / prompt_tokens;
  const double prefill = load.prefill_ms_per_token * prompt_tokens;
  const double transfer = transfer_ms(bytes, load.bytes_per_s);
  const double ready = std::max(prefill + share * transfer, share * prefill + transfer);
  return load.queue_ms + ready + load.first_step_ms;
}

failure check_deadline(const load_estimate& load, std::uint32_t prompt_tokens,
                       std::uint64_t bytes, std::int64_t remaining_ms) {
  if (remaining_ms == 0)
    return {};
  const bool further = load.further_steps_ms > 0;
  const double needed = estimate_first_token_ms(load, prompt_tokens, bytes) + load.further_steps_ms;
  if (needed <= static_cast<double>(remaining_ms))
    return {};
  const double prefill = load.prefill_ms_per_token * prompt_tokens;
  return {reason::deadline_infeasible,
          (further ? "last token needs " : "first token needs ") + with_one_decimal(needed)
            + " ms (queue " + with_one_decimal(load.queue_ms) + ", prefill "
            + with_one_decimal(prefill) + ", transfer "
            + with_one_decimal(transfer_ms(bytes, load.bytes_per_s)) + ", first step "
            + with_one_decimal(load.first_step_ms)
            + (further ? ", further steps " + with_one_decimal(load.further_steps_ms) : "")
            + "), the deadline leaves " + std::to_string(remaining_ms) + " ms"};
}

std::int64_t lease_ms(std::uint64_t bytes, std::uint64_t bytes_per_s, std::int64_t prefill_ms,
                      lease_bounds bounds) {
  BATON_ASSERT(bounds.ms_min <= bounds.ms_max);
  BATON_ASSERT(prefill_ms >= 0);
  const double transfer = transfer_ms(bytes, static_cast<double>(bytes_per_s));
  const double wanted = static_cast<double>(limits::lease_safety_factor)
                        * (static_cast<double>(prefill_ms) + transfer);
  if (wanted >= static_cast<double>(bounds.ms_max))
    return bounds.ms_max;
  return std::max(bounds.ms_min, static_cast<std::int64_t>(wanted));
}

} // namespace baton::protocol
