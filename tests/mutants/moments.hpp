// Moments of a hand-off at which a word is said to one machine alone.
#pragma once

#include "protocol/reservation.hpp"
#include "tests/protocol/hand_off_samples.hpp"

namespace baton::mutants {

template <class Effect, class Result>
bool did(const Result& result) {
  for (const auto& effect : result.effects)
    if (std::holds_alternative<Effect>(effect))
      return true;
  return false;
}

inline protocol::manifest_offered offered(const protocol::manifest& offer) {
  return {offer, tests::sample_granted().granted.reservation, tests::sample_hold().hold};
}

/// A reservation that receives on both lanes.
inline protocol::reservation::state with_lanes_open() {
  using namespace protocol;
  auto s = reservation::step({}, tests::sample_begin(), tests::at_ms(0)).state;
  auto opened
    = reservation::step(std::move(s), offered(tests::sample_offer()), tests::at_ms(1));
  for (const auto& effect : opened.effects)
    if (const auto* lane = std::get_if<open_lane>(&effect))
      opened.state = reservation::step(std::move(opened.state), lane_opened{lane->lane},
                                       tests::at_ms(1))
                       .state;
  return opened.state;
}

} // namespace baton::mutants
