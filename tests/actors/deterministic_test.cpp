// The product's actors under seeded schedules: every run ends, drains, breaks no invariant, says
// only what its machines decided, and is the same run when it is run again.
#include "protocol/trace_check.hpp"
#include "tests/actors/deterministic_cluster.hpp"
#include "tests/actors/deterministic_said.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

constexpr std::uint64_t seeds = 75; ///< of each scenario

/// Every pair of degrees comes up.
deterministic_script script_of(std::uint64_t seed) {
  deterministic_script script;
  script.shape.source_tp = 1 + seed % 2;
  script.shape.destination_tp = 1 + seed / 2 % 2;
  return script;
}

std::string lines(const std::vector<std::string>& all, std::size_t count) {
  std::string text;
  for (std::size_t i = all.size() - std::min(all.size(), count); i < all.size(); ++i)
    text += "  " + all[i] + "\n";
  return text;
}

std::string text_of(const check_report& report) {
  std::string text;
  for (const auto& violation : report.violations)
    text += to_text(violation);
  return text;
}

/// What must hold of every run, whatever it was about.
deterministic_run judged(const deterministic_script& script, std::uint64_t seed) {
  auto run = run_deterministic(script, seed);
  INFO("seed " << seed << ", the last steps:\n" << lines(run.steps, 30));
  CHECK(run.outcomes.size() == 1);
  CHECK_MESSAGE(run.not_at_rest.empty(), lines(run.not_at_rest, 20));
  const check_report report = check_trace(run.trace, trace_extent::whole);
  CHECK_MESSAGE(report.ok(), text_of(report));
  const auto said = said_without_decision(run.trace);
  CHECK_MESSAGE(said.empty(), lines(said, 20));
  CHECK(run_deterministic(script, seed).steps == run.steps);
  REQUIRE_FALSE(run.outcomes.empty());
  return run;
}

} // namespace

TEST_CASE("actors in any order of delivery complete a quiet request") {
  std::size_t longest = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto run = judged(script_of(seed), seed);
    CHECK(run.outcomes.front().kind == outcome_kind::completed);
    CHECK(run.frames == sample_output_tokens);
    longest = std::max(longest, run.steps.size());
  }
  MESSAGE("longest run: " << longest << " steps");
}

TEST_CASE("actors in any order of delivery drain after a cancel at any step") {
  std::uint32_t cancelled = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    deterministic_script script = script_of(seed);
    script.cancel_step = static_cast<std::uint32_t>(seed * 37 % 300);
    script.timer_in_steps = seed % 3 == 0 ? 64 : 0;
    const auto run = judged(script, seed);
    cancelled += run.outcomes.front().kind == outcome_kind::cancelled ? 1 : 0;
  }
  CHECK(cancelled > seeds / 4);
}

TEST_CASE("actors in any order of delivery drain after their lease has expired") {
  std::uint32_t expired = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    deterministic_script script = script_of(seed);
    script.spec.fault.lease_ms = 30;
    script.spec.retries = static_cast<std::uint32_t>(seed % 2);
    script.timer_in_steps = 32;
    const auto run = judged(script, seed);
    expired += run.outcomes.front().why.why == reason::lease_expired ? 1 : 0;
  }
  CHECK(expired > seeds / 8);
}

TEST_CASE("actors in any order of delivery end when the decoder refuses") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    deterministic_script script = script_of(seed);
    script.decode_blocks = 2; // the prompt alone needs 3
    const auto run = judged(script, seed);
    CHECK(run.outcomes.front().kind == outcome_kind::refused);
    CHECK(run.frames == 0);
  }
}
