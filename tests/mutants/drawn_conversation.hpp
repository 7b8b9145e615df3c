// Conversations that more than one driver plays.
#pragma once

#include "tests/protocol/conversation.hpp"

namespace baton::mutants {

inline const std::vector<tests::hand_off_shape> shapes{{2, 2, false, 0}, {1, 2, false, 0},
                                                       {2, 1, false, 0}, {2, 2, true, 0}};

inline constexpr std::uint32_t never = 100'000; ///< steps

/// Any shape, order, loss, delay and repetition; half of them with a cancel.
struct drawn_conversation {
  tests::conversation_setup setup;
  tests::chooser choose;
  std::uint32_t cancel_at = never;
};
drawn_conversation draw_conversation(std::uint32_t seed);

/// One pool with little of everything, and those who ask it; whatever it does wrong.
void play_pool(std::uint64_t seed, tests::conversation_trace& trace);

/// A router whose nodes come, go and come back, and the attempts that it places meanwhile.
void play_members(std::uint64_t seed, tests::conversation_trace& trace);

} // namespace baton::mutants
