// The small worlds that are searched exhaustively, each with the number of its states. A change of
// a number is a change of the protocol: look at it, then pin the new one.
#pragma once

#include "tests/sim/explore.hpp"

namespace baton::sim {

struct small_world {
  world_setup setup;
  std::uint64_t states = 0; ///< pinned
  bool in_ci = true;        ///< part of the minute that CI gives to searching
};

const std::vector<small_world>& small_worlds();
const small_world* find_world(const std::string& name);

} // namespace baton::sim
