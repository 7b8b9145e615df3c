// The liveness phase: no more faults, time passes fairly, everything must drain.
#include "tests/sim/explore.hpp"
#include "tests/sim/simulate.hpp"

namespace baton::sim {

std::string run_to_rest(world& w, std::uint32_t actions_max, run_observer* observer,
                        std::uint64_t* actions) {
  std::vector<action> next;
  for (std::uint32_t i = 0; i < actions_max; ++i) {
    w.enabled(next);
    if (next.empty() || w.drained())
      break;
    if (observer != nullptr)
      observer->acts(w, next.front());
    w.apply(next.front());
    if (actions != nullptr)
      ++*actions;
    if (!w.broken().empty())
      return w.broken();
  }
  const auto left = w.not_drained();
  if (left.empty())
    return "";
  const bool outcome = left.front().find("no outcome") != std::string::npos;
  return (outcome ? "I15: faults have stopped and " : "I16: faults have stopped and ")
         + left.front();
}

} // namespace baton::sim
