// How fast the search is, as JSON: states and machine steps a second of one core, beside what the
// same machines do when each step is computed anew.
#include "tests/sim/explore.hpp"
#include "tests/sim/tape.hpp"

#include <ctime>
#include <cstdio>

namespace {

using namespace baton::sim;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct speed {
  double actions_per_s = 0;
  double steps_per_s = 0;
};

/// Seeds first to last, on one core.
speed run(const char* frame, std::uint64_t first, std::uint64_t last) {
  std::uint64_t actions = 0;
  std::uint64_t steps = 0;
  const double begun = cpu_seconds();
  for (std::uint64_t seed = first; seed < last; ++seed) {
    const run_result r = simulate_seed(*find_frame(frame), seed);
    actions += r.actions;
    steps += r.steps;
  }
  const double s = cpu_seconds() - begun;
  return {static_cast<double>(actions) / s, static_cast<double>(steps) / s};
}

} // namespace

int main() {
  world_setup small;
  small.shape.prefill_ranks = 2;
  small.shape.decode_ranks = 2;
  small.shape.prefill_blocks = 1;
  small.shape.decode_blocks = 1;
  small.requests.resize(1);
  small.merging = true;
  const double begun = cpu_seconds();
  const exploration e = explore(small, {});
  const double searched = cpu_seconds() - begun;
  const speed cold = run("tiny", 1, 500);
  run("tiny", 500, 20'000);
  const speed warm = run("tiny", 1, 20'000);
  std::printf("{\"explored_states_per_s\": %.0f, \"explored_transitions_per_s\": %.0f, "
              "\"simulated_steps_per_s\": %.0f, \"simulated_actions_per_s\": %.0f, "
              "\"simulated_steps_per_s_computed_anew\": %.0f, \"ratio_to_computed_anew\": %.2f}\n",
              static_cast<double>(e.states) / searched,
              static_cast<double>(e.transitions) / searched, warm.steps_per_s, warm.actions_per_s,
              cold.steps_per_s, warm.steps_per_s / cold.steps_per_s);
}
