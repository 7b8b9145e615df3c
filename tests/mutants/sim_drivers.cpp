// The simulated cluster (tests/sim): seeded runs under drawn faults, and small worlds searched in
// every order up to a number of states.
#include "tests/mutants/driver.hpp"
#include "tests/sim/simulate.hpp"
#include "tests/sim/tape.hpp"
#include "tests/sim/worlds.hpp"

namespace baton::mutants {

namespace {

using namespace sim;

std::string seeds(const char* frame_name, std::uint64_t seeds_max, progress& at) {
  const run_frame* frame = find_frame(frame_name);
  if (frame == nullptr)
    return std::string("no frame is called ") + frame_name;
  for (std::uint64_t seed = 1; seed <= seeds_max; ++seed) {
    ++at.tries;
    const run_result r = simulate_seed(*frame, seed);
    at.steps = r.steps;
    if (!r.broken.empty())
      return r.broken;
  }
  return "";
}

std::string small_seeds(progress& at) { return seeds("small", 2'000, at); }
std::string retry_seeds(progress& at) { return seeds("retry", 2'000, at); }
std::string mapped_seeds(progress& at) { return seeds("mapped", 4'000, at); }

std::string explored(progress& at) {
  explore_limits limits;
  limits.states_max = 60'000; // of each world: most of what can happen in it begins there
  limits.seconds_max = 60;
  limits.heal_one_in = 64;
  for (const small_world& w : small_worlds()) {
    const exploration e = explore(w.setup, limits);
    at.tries += e.states;
    at.steps = e.way.size();
    if (!e.broken.empty())
      return e.broken;
  }
  return "";
}

} // namespace

std::vector<driver> sim_drivers() {
  return {{"small", "seeded runs of one or two requests under drawn faults", small_seeds},
          {"retry", "the same with two decode groups and more tries", retry_seeds},
          {"mapped", "prefill ranks that compute into the decode ranks' memory", mapped_seeds},
          {"explorer", "small worlds in every order, breadth first", explored}};
}

} // namespace baton::mutants
