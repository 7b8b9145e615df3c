// The simulated cluster (tests/sim): seeded runs under drawn faults, and every order of small
// worlds up to a number of states.
#include "tests/mutants/driver.hpp"
#include "tests/sim/explore.hpp"
#include "tests/sim/simulate.hpp"
#include "tests/sim/tape.hpp"

namespace baton::mutants {

namespace {

using namespace sim;

constexpr std::uint64_t seeds_max = 3'000; ///< of each frame
constexpr std::uint64_t states_max = 60'000; ///< of each world

std::string seeds(const char* name, progress& at) {
  const run_frame* frame = find_frame(name);
  if (frame == nullptr)
    return std::string("no frame is called ") + name;
  for (std::uint64_t seed = 1; seed <= seeds_max; ++seed) {
    ++at.tries;
    const run_result r = simulate_seed(*frame, seed);
    at.steps = r.steps;
    if (!r.broken.empty())
      return r.broken;
  }
  return "";
}

std::string small_seeds(progress& at) { return seeds("small", at); }

/// Small enough that the first tens of thousands of states hold most of what can happen in them.
std::vector<world_setup> worlds() {
  const auto make = [](const char* name, std::uint8_t from, std::uint8_t to, std::size_t requests,
                       const budgets& may) {
    world_setup s;
    s.name = name;
    s.shape.prefill_ranks = from;
    s.shape.decode_ranks = to;
    s.shape.prefill_blocks = s.shape.decode_blocks = 1;
    s.requests.resize(requests);
    s.may = may;
    s.generations_max = 3;
    return s;
  };
  budgets cancel, expiry, copy, loss, crash;
  cancel.cancels = 1;
  expiry.expiries = 1;
  copy.copies = 1;
  loss.losses = 1;
  crash.crashes = 1;
  return {make("cancel", 1, 1, 1, cancel),   make("expiry", 1, 1, 1, expiry),
          make("copy", 1, 1, 1, copy),       make("loss", 1, 1, 1, loss),
          make("crash", 1, 1, 1, crash),     make("cancel, 2 ranks", 1, 2, 1, cancel),
          make("two requests", 1, 1, 2, cancel)};
}

std::string explored(progress& at) {
  explore_limits limits;
  limits.states_max = states_max;
  limits.seconds_max = 10;
  for (const world_setup& setup : worlds()) {
    const exploration e = explore(setup, limits);
    at.tries += e.states;
    at.steps = e.way.size();
    if (!e.broken.empty())
      return e.broken;
  }
  return "";
}

} // namespace

std::vector<driver> sim_drivers() {
  return {{"simulator", "seeded runs of a small cluster under drawn faults", small_seeds},
          {"explorer", "every order of small worlds, breadth first", explored}};
}

} // namespace baton::mutants
