// Exhaustive search: every state that a small world can reach, breadth first, so that the first
// violation found is one of the shortest.
#pragma once

#include "tests/sim/world.hpp"

namespace baton::sim {

class run_observer;

struct explore_limits {
  std::uint64_t states_max = 200'000'000;
  double seconds_max = 600;
  /// Of so many states one is healed and run to its end, to see that everything drains (I15, I16);
  /// 0: none is.
  std::uint32_t heal_one_in = 256;
  bool count_rests = false; ///< `rests` and `rests_sum` are wanted
};

struct exploration {
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint32_t depth = 0;
  std::uint64_t healed = 0;
  bool complete = false;        ///< every reachable state was seen
  std::string broken;           ///< "" or the first violation
  std::vector<action> way;      ///< to it, from the start
  std::uint64_t alone = 0;      ///< states in which one request's actions were enough
  std::uint64_t rests = 0;      ///< states where nothing but timers and faults could happen
  std::uint64_t rests_sum = 0;  ///< of their hashes: equal sets, equal sums
  std::uint64_t steps_known = 0; ///< distinct steps of machines
  double seconds = 0;
};

exploration explore(const world_setup& setup, const explore_limits& limits);

/// Runs a healed world fairly until nothing is left to do: "" or what did not drain. Adds the
/// actions it took to `actions`, and shows each to `observer`.
std::string run_to_rest(world& w, std::uint32_t actions_max = 5'000,
                        run_observer* observer = nullptr, std::uint64_t* actions = nullptr);

} // namespace baton::sim
