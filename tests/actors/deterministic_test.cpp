// The product's actors under seeded schedules: every run ends, drains, breaks no invariant, says
// what its machines decided and nothing else, and is the same run when it is run again.
#include "protocol/trace_check.hpp"
#include "tests/actors/deterministic_cluster.hpp"
#include "tests/actors/deterministic_said.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

constexpr std::uint64_t shapes = 4;
constexpr std::uint64_t repeat_in = 10; ///< one run in so many is run twice

/// Every pair of degrees comes up, each with and without laggards.
deterministic_script script_of(std::uint64_t seed) {
  deterministic_script script;
  script.shape.source_tp = 1 + seed % 2;
  script.shape.destination_tp = 1 + seed / 2 % 2;
  script.laggards = seed / shapes % 2 != 0;
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

/// All records as they would stand in the nodes' files.
std::vector<std::string> records_of(const deterministic_run& run) {
  std::vector<std::string> all;
  for (const auto& record : run.trace.records)
    all.push_back(to_line(record));
  return all;
}

std::uint32_t outcomes_of(const deterministic_run& run, outcome_kind kind) {
  return static_cast<std::uint32_t>(
    std::count_if(run.outcomes.begin(), run.outcomes.end(),
                  [&](const request_ended& e) { return e.kind == kind; }));
}

/// What must hold of every run, whatever it was about.
deterministic_run judged(const deterministic_script& script, std::uint64_t seed) {
  auto run = run_deterministic(script, seed);
  INFO("seed " << seed << ", the last steps:\n" << lines(run.steps, 30));
  CHECK(run.outcomes.size() == script.requests);
  CHECK_MESSAGE(run.not_at_rest.empty(), lines(run.not_at_rest, 20));
  const check_report report = check_trace(run.trace, trace_extent::whole);
  CHECK_MESSAGE(report.ok(), text_of(report));
  const auto said = said_without_decision(run.trace);
  CHECK_MESSAGE(said.empty(), lines(said, 20));
  if (seed % repeat_in == 0) {
    const auto again = run_deterministic(script, seed);
    CHECK(again.steps == run.steps);
    CHECK(records_of(again) == records_of(run));
  }
  REQUIRE_FALSE(run.outcomes.empty());
  return run;
}

} // namespace

TEST_CASE("actors in any order of delivery complete a quiet request, and no two orders are one") {
  const std::set<std::string> every_machine
    = {"membership", "request",     "attempt", "pool",      "reservation",
       "lane",       "source_hold", "feed",    "rank_group"};
  constexpr std::uint64_t seeds = 240;
  std::set<std::vector<std::string>> orders;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto run = judged(script_of(seed), seed);
    CHECK(outcomes_of(run, outcome_kind::completed) == 1);
    CHECK(run.frames == sample_output_tokens);
    const auto unsaid = decided_without_saying(run.trace);
    CHECK_MESSAGE(unsaid.empty(), lines(unsaid, 20));
    std::set<std::string> machines;
    for (const auto& record : run.trace.records)
      if (!record.machine.empty())
        machines.insert(record.machine);
    CHECK(machines == every_machine);
    orders.insert(run.steps);
  }
  CHECK(orders.size() == seeds);
}

TEST_CASE("actors in any order of delivery share a pool that has room for one request") {
  constexpr std::uint64_t seeds = 64;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    deterministic_script script = script_of(seed);
    script.requests = 3;
    script.decode_blocks = 4; // one needs 3
    script.spec.queue_ms = 10'000;
    const auto run = judged(script, seed);
    CHECK(outcomes_of(run, outcome_kind::completed) == script.requests);
  }
}

TEST_CASE("actors in any order of delivery drain after a cancel at every step") {
  constexpr std::uint64_t first_seed = 12; // twice the shapes: with and without laggards
  constexpr std::uint64_t stride = 4;
  std::uint32_t runs = 0;
  std::uint32_t cancelled = 0;
  std::set<std::string> heard;
  for (std::uint64_t seed = first_seed; seed < first_seed + 2 * shapes; ++seed) {
    deterministic_script script = script_of(seed);
    const std::size_t steps = run_deterministic(script, seed).steps.size();
    for (std::size_t step = seed % stride; step < steps; step += stride) {
      script.cancel_step = static_cast<std::uint32_t>(step);
      const auto run = judged(script, seed);
      cancelled += outcomes_of(run, outcome_kind::cancelled);
      ++runs;
      for (const auto& record : run.trace.records)
        heard.insert(record.message);
    }
  }
  CHECK(cancelled > runs / 2);
  for (const char* word : {"cancel_attempt", "withdraw_attempt", "revoke_reservation", "stop_lane",
                           "quarantine_blocks", "cancel_source", "withdraw_feed", "cancel_sequence",
                           "commit_abandoned", "reclaim_blocks"})
    CHECK_MESSAGE(heard.count(word) == 1, std::string(word) << " has been heard in no run");
}

TEST_CASE("actors in any order of delivery drain after their lease has expired") {
  constexpr std::uint64_t seeds = 160;
  std::uint32_t expired = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    deterministic_script script = script_of(seed);
    script.spec.fault.lease_ms = 30;
    script.spec.retries = static_cast<std::uint32_t>(seed / 8 % 2);
    script.timer_in_steps = 32;
    const auto run = judged(script, seed);
    expired += run.outcomes.front().why.why == reason::lease_expired ? 1 : 0;
  }
  CHECK(expired > seeds / 8);
}

TEST_CASE("actors in any order of delivery end when the decoder refuses") {
  constexpr std::uint64_t seeds = 40;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    deterministic_script script = script_of(seed);
    script.decode_blocks = 2; // the prompt alone needs 3
    const auto run = judged(script, seed);
    CHECK(outcomes_of(run, outcome_kind::refused) == 1);
    CHECK(run.frames == 0);
  }
}

TEST_CASE("actors in any order of delivery drain although any one word between nodes is lost") {
  // Without these the hand-off goes on: said again, or found out by asking.
  const std::set<std::string> spared
    = {"reserve_request", "prefill_accepted",      "prefill_finished", "committed",
       "decode_finished", "reservation_reclaimed", "source_released"};
  constexpr std::uint64_t seeds = 2 * shapes;
  constexpr std::uint32_t words_max = 100;
  std::set<std::string> lost;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    deterministic_script script = script_of(seed);
    for (std::uint32_t word = 0; word < words_max; ++word) {
      script.lost_word = word;
      const auto run = judged(script, seed);
      if (run.lost.empty())
        break; // there are no more
      INFO("lost: " << run.lost);
      CHECK((outcomes_of(run, outcome_kind::completed) == 1) == (spared.count(run.lost) > 0));
      lost.insert(run.lost);
    }
  }
  CHECK(lost.size() == 14);
}
