// A run as text for people: one line an action, below it what it made of each actor's state.
#pragma once

#include "tests/sim/explore.hpp"
#include "tests/sim/tape.hpp"

#include <string>

namespace baton::sim {

/// "  7  reservation D0/1 -> attempt 1/1: reserve_granted
///          attempt 1/1: reserving -> prefilling"
std::string chart_of(const tape& t);
std::string chart_of(const world_setup& setup, const std::vector<action>& way);

} // namespace baton::sim
