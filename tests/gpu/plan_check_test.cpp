// Plans that name what does not exist fail before memory is touched.
#include "tests/gpu/support.hpp"

#include <doctest/doctest.h>

using namespace baton::gpu;
using namespace baton::gpu::test;
using baton::protocol::reason;

namespace {

/// Runs a plan of a good slice and `bad` on the small model; expects the failure to name the field.
void check_refused(bench& b, const slice& bad, reason why, const std::string& part) {
  const std::vector<std::byte> before(b.arena.base,
                                      b.arena.base + b.arena.blocks * block_bytes(b.shape));
  const auto good = tokens_slice({1, 2}, 0, {0});
  auto results = b.run->run({1, 1, {good, bad}});
  REQUIRE_FALSE(results.ok());
  CAPTURE(results.error().text);
  CHECK(results.error().why == why);
  CHECK(results.error().text.find("slice 1 (sequence 77): ") == 0);
  CHECK(results.error().text.find(part) != std::string::npos);
  CHECK(std::memcmp(before.data(), b.arena.base, before.size()) == 0);
}

slice named(slice s) {
  s.sequence = 77;
  return s;
}

} // namespace

TEST_CASE("a plan with a token, position or block that does not exist runs no part") {
  const auto source = load_if_present(stories_folder);
  if (!source) {
    MESSAGE("stories260K is not at hand");
    return;
  }
  bench b(source, {}, 4);
  const auto refused = [&](const slice& s, reason why, const std::string& part) {
    check_refused(b, named(s), why, part);
  };
  refused(tokens_slice({1, 512}, 0, {0}), reason::out_of_range, "tokens[1]");
  refused(tokens_slice({-1}, 0, {0}), reason::out_of_range, "tokens[0]");
  refused(tokens_slice({}, 0, {0}), reason::bad_input, "tokens: is empty");
  refused(tokens_slice({1}, 16, {0}), reason::out_of_range, "blocks: 1 given, 2 needed");
  refused(tokens_slice({1}, 16, {0, 4}), reason::out_of_range, "blocks[1]: 4");
  refused(tokens_slice({1}, 512, blocks_from(0, 33)), reason::out_of_range, "max_positions");
  refused(tokens_slice({1}, 0xffffffffU, {0}), reason::out_of_range, "max_positions");
  auto hot = tokens_slice({1}, 0, {0});
  hot.sample = sampling{-1.0F, 1.0F, 0, 0};
  refused(hot, reason::bad_input, "temperature");

  slice resumed;
  resumed.resume.assign(64, 0.5F);
  refused(resumed, reason::out_of_range, "start");
  resumed.start = 3;
  resumed.tokens = {1};
  refused(resumed, reason::bad_input, "tokens: must be empty");
  resumed.tokens.clear();
  resumed.resume.pop_back();
  refused(resumed, reason::bad_input, "resume: has 63 values");

  const auto full = tokens_slice(std::vector<std::int32_t>(50, 1), 0, blocks_from(0, 4));
  rank_options small;
  small.rows_max = 99;
  bench narrow(source, small, 4);
  auto results = narrow.run->run({1, 1, {full, full}});
  REQUIRE_FALSE(results.ok());
  CHECK(results.error().text.find("rows_max is 99") != std::string::npos);
}

TEST_CASE("an executor refuses plans of an epoch that has ended, and runs later ones") {
  const auto source = load_if_present(stories_folder);
  if (!source) {
    MESSAGE("stories260K is not at hand");
    return;
  }
  bench b(source, {}, 4);
  const auto good = tokens_slice({1, 2}, 0, {0});
  CHECK(b.run->run({4, 1, {good}}).ok());
  b.run->poison(5, "the leader went away");
  b.run->poison(5, "a second reason");
  for (const std::uint64_t epoch : {4, 5}) {
    auto results = b.run->run({epoch, 2, {good}});
    REQUIRE_FALSE(results.ok());
    CHECK(results.error().why == reason::group_poisoned);
    CHECK(results.error().text == "the leader went away");
  }
  CHECK(b.run->run({6, 1, {good}}).ok());
}

TEST_CASE("an empty plan completes with no results") {
  const auto source = load_if_present(stories_folder);
  if (!source) {
    MESSAGE("stories260K is not at hand");
    return;
  }
  bench b(source, {}, 4);
  auto results = b.run->run({1, 1, {}});
  REQUIRE(results.ok());
  CHECK(results.value().empty());
}
