// One seeded run of a cluster under swarm-drawn faults: a safety phase in which anything may go
// wrong, then a liveness phase in which nothing does and everything must drain.
#pragma once

#include "tests/sim/choices.hpp"
#include "tests/sim/world.hpp"

namespace baton::sim {

/// What a run is drawn from; the draw itself is part of the tape.
struct run_frame {
  std::string name;
  std::uint8_t prefill_groups_max = 1;
  std::uint8_t decode_groups_max = 1;
  std::uint8_t ranks_max = 1;
  std::uint16_t requests_max = 2;
  std::uint32_t blocks_max = 2; ///< of a pool
  bool varied = true; ///< slots and retention are drawn too
  std::uint32_t steps_max = 400; ///< of the safety phase
  bool mapped = false; ///< prefill ranks compute into the memory of decode ranks
};

struct run_result {
  std::uint64_t actions = 0;
  std::uint64_t steps = 0; ///< of machines: messages handled
  std::string broken;    ///< "" or the first violation
  std::uint64_t unseed = 0; ///< of the end state: two runs of one seed must agree
  std::uint32_t completed = 0; ///< requests, by outcome
  std::uint32_t failed = 0;
};

/// Sees each action before it happens.
class run_observer {
public:
  virtual ~run_observer() = default;
  /// Watches steps from the first on, those before `begins` too.
  virtual world::observer* of_steps() { return nullptr; }
  virtual void begins(world& w) = 0;
  virtual void acts(const world& w, const action& a) = 0;
  virtual void heals(const world& w) = 0;
};

run_result simulate(const run_frame& frame, choices& chance, run_observer* observer = nullptr);
run_result simulate_seed(const run_frame& frame, std::uint64_t seed);

} // namespace baton::sim
