#include "tests/sim/chart.hpp"
#include "tests/sim/marks.hpp"
#include "tests/sim/worlds.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace baton::sim;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string lines_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines)
    text += "\n  " + line;
  return text;
}

/// The tape and chart of a seed that broke something.
std::string report(const run_frame& frame, std::uint64_t seed) {
  prng_choices inner(seed);
  recording_choices recorded(inner);
  const run_result r = simulate(frame, recorded);
  const tape small = shrink({frame.name, recorded.tape(), r.broken}, 1'000);
  return chart_of(small) + "\n" + to_text(small);
}

void check_seeds(const char* name, std::uint64_t first, std::uint64_t count) {
  const run_frame& frame = *find_frame(name);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const run_result r = simulate_seed(frame, seed);
    if (!r.broken.empty()) {
      FAIL_CHECK("seed ", seed, " of ", name, ": ", r.broken, "\n", report(frame, seed));
      return;
    }
    if (seed % 20 == 0)
      REQUIRE(simulate_seed(frame, seed).unseed == r.unseed);
  }
}

} // namespace

TEST_CASE("every state of each small world keeps the contract, and there are as many as pinned") {
  for (const small_world& w : small_worlds()) {
    if (!w.in_ci)
      continue;
    CAPTURE(w.setup.name);
    const exploration e = explore(w.setup, {});
    CHECK_MESSAGE(e.broken.empty(), e.broken, "\n", chart_of(w.setup, e.way));
    CHECK(e.complete);
    CHECK(e.states == w.states);
  }
}

TEST_CASE("a search that leaves orders out comes to rest in the same states as one of all orders") {
  world_setup small;
  small.requests.resize(2);
  small.shape.prefill_ranks = small.shape.decode_ranks = 1;
  small.shape.prefill_blocks = small.shape.decode_blocks = 1;
  small.generations_max = 1;
  small.merging = true;
  explore_limits limits;
  limits.count_rests = true;
  const exploration all = explore(small, limits);
  small.reduced = true;
  const exploration some = explore(small, limits);
  CHECK(all.complete);
  CHECK(some.complete);
  CHECK(some.alone > 0);
  CHECK(some.states < all.states);
  CHECK(some.rests > 1);
  CHECK(some.rests == all.rests);
  CHECK(some.rests_sum == all.rests_sum);
}

TEST_CASE("seeded runs of every frame keep the contract and drain, and end the same way twice") {
  check_seeds("small", 1, 20'000);
  check_seeds("retry", 1, 10'000);
  check_seeds("middle", 1, 500);
  check_seeds("large", 1, 4);
  check_seeds("mapped", 1, 10'000);
}

TEST_CASE("seeds that are new with each commit keep the contract") {
  const char* commit = std::getenv("BATON_COMMIT"); // hexadecimal; set by tests/run
  const std::uint64_t first
    = commit == nullptr ? 1'000'000 : std::strtoull(std::string(commit, 0, 8).c_str(), nullptr, 16);
  MESSAGE("seeds from ", first);
  check_seeds("small", first, 5'000);
  check_seeds("middle", first, 200);
  check_seeds("mapped", first, 2'000);
}

TEST_CASE("every tape that once showed a violation passes now") {
  std::size_t tapes = 0;
  for (const auto& file : std::filesystem::directory_iterator(BATON_SEEDS)) {
    if (file.path().extension() != ".tape")
      continue;
    CAPTURE(file.path().filename().string());
    std::string problem;
    const auto t = tape_from_text(text_of(file.path().string()), problem);
    REQUIRE_MESSAGE(t.has_value(), problem);
    const run_result r = replay(*t);
    CHECK_MESSAGE(r.broken.empty(), r.broken, "\n", chart_of(*t));
    ++tapes;
  }
  CHECK(tapes > 0);
}

TEST_CASE("every mark on a rare branch was reached by the searches above") {
  const auto missed = marks_missed();
  CHECK_MESSAGE(missed.empty(), "never reached:", lines_of(missed));
}

TEST_CASE("a tape replays its run, whatever is cut off it") {
  const run_frame& frame = *find_frame("small");
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    prng_choices inner(seed);
    recording_choices recorded(inner);
    const run_result first = simulate(frame, recorded);
    tape t{"small", recorded.tape(), ""};
    std::string problem;
    const auto read = tape_from_text(to_text(t), problem);
    REQUIRE_MESSAGE(read.has_value(), problem);
    CHECK(replay(*read).unseed == first.unseed);
    t.picks.resize(t.picks.size() / 2);
    CHECK(replay(t).broken.empty());
  }
}

TEST_CASE("a file that is no tape is refused by line and reason") {
  std::string problem;
  CHECK_FALSE(tape_from_text("something else", problem).has_value());
  CHECK(problem.find("line 1") != std::string::npos);
  CHECK_FALSE(tape_from_text("baton-tape-1\nframe huge\n", problem).has_value());
  CHECK(problem.find("line 2") != std::string::npos);
  CHECK_FALSE(tape_from_text("baton-tape-1\nframe small\nwhy x\n1 2 three\n", problem).has_value());
  CHECK(problem.find("pick 3") != std::string::npos);
}
