// One small hand-off for the protocol's tests: a model of 2 layers and 4 KV heads, blocks of 4
// tokens, a prompt of 9 tokens (3 blocks) and an output budget of 3, from group P7 to group D3.
#pragma once

#include "protocol/attempt.hpp"
#include "protocol/block_pool.hpp"
#include "protocol/reservation.hpp"
#include "protocol/source_hold.hpp"

#include <string>

namespace baton::tests {

/// Degrees of both sides; whether one mixed group plays both, or P7 writes into D3's memory.
struct hand_off_shape {
  std::uint32_t source_tp = 2;
  std::uint32_t destination_tp = 2;
  bool in_place = false;
  std::uint32_t retries = 0;
  bool mapped = false;
};

inline constexpr std::uint32_t sample_block_tokens = 4;
inline constexpr std::uint32_t sample_prompt_tokens = 9;
inline constexpr std::uint32_t sample_output_tokens = 3;
inline constexpr std::int64_t sample_lease_ms = 1'000;

protocol::model_identity sample_model();
protocol::request_spec sample_spec(const hand_off_shape& shape = {});
protocol::token_list sample_prompt();
protocol::attempt_id sample_attempt(std::uint32_t ordinal = 1);
protocol::source_side sample_source(const hand_off_shape& shape = {});
protocol::reserve_request sample_reserve(const hand_off_shape& shape = {},
                                         std::uint32_t ordinal = 1);

/// A pool of `blocks` blocks; "D3" with two decode slots, "P7" with none.
protocol::form_pool sample_pool(const std::string& group, std::uint32_t blocks,
                                std::uint32_t tp_degree);

/// What a pool of D3 grants to sample_reserve: the first grant of its life.
protocol::open_reservation sample_granted(const hand_off_shape& shape = {});
protocol::begin_reservation sample_begin(const hand_off_shape& shape = {});

/// The hold that P7's pool (D3's, in place) opens for that grant.
protocol::open_hold sample_hold(const hand_off_shape& shape = {});
protocol::begin_hold sample_begin_hold(const hand_off_shape& shape = {},
                                       std::int64_t retention_ms = 0);

protocol::manifest sample_offer(const hand_off_shape& shape = {});
protocol::commit sample_commit(const protocol::grant& granted);

/// An instant so many milliseconds after the start.
constexpr protocol::instant at_ms(std::int64_t ms) { return protocol::after_ms({0}, ms); }

} // namespace baton::tests
