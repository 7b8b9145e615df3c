// The rates behind every estimate of the cost model.
#pragma once

#include "protocol/fields.hpp"
#include "protocol/limits.hpp"

#include <cstdint>

namespace baton::protocol {

/// What is assumed of groups and links until they are measured.
struct cost_rates {
  std::int64_t prefill_us_per_token = limits::assumed_prefill_us_per_token;
  std::int64_t decode_us_per_token = limits::assumed_decode_us_per_token; ///< of one sequence
  std::uint64_t bytes_per_s = limits::assumed_bytes_per_s;
  std::uint32_t prefill_chunk_tokens = limits::prefill_chunk_tokens_default;

  static constexpr const char* type = "cost_rates";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("prefill_us_per_token", s.prefill_us_per_token),
                           field("decode_us_per_token", s.decode_us_per_token),
                           field("bytes_per_s", s.bytes_per_s),
                           field("prefill_chunk_tokens", s.prefill_chunk_tokens));
  }
};

} // namespace baton::protocol
