// A hold whose ranks write into the memory of another group.
#include "tests/protocol/source_hold_states.hpp"

#include <doctest/doctest.h>

using namespace baton::tests;
using namespace baton::tests::hold_states;

namespace {

const hand_off_shape mapped{2, 2, false, 0, true};

state begun(std::int64_t retention_ms = 0) {
  return after(nascent(), {sample_begin_hold(mapped, retention_ms)});
}
state at_work(std::int64_t retention_ms = 0) { return after(begun(retention_ms), {opened()}); }

std::string effects_of(const state& s, const source_hold::event& e) {
  return types_of(machine::step(s, e).effects);
}

} // namespace

TEST_CASE("mapped, the prefill pool charges no block, and the grant's blocks are computed") {
  CHECK(sample_hold(mapped).blocks.empty());
  CHECK(effects_of(nascent(), sample_begin_hold(mapped))
        == "prefill_accepted manifest_offered arm_evidence"); // nothing is written yet
  const auto result = machine::step(begun(), opened());
  REQUIRE(types_of(result.effects) == "open_feed open_feed submit_prefill");
  const auto& feed = std::get<open_feed>(result.effects.at(0));
  CHECK(feed.mapped);
  CHECK(feed.source_blocks == feed.destination_blocks);
  const auto& submitted = std::get<submit_prefill>(result.effects.at(2));
  CHECK_FALSE(submitted.in_place); // the hidden state travels
  REQUIRE(submitted.blocks.size() == feed.destination_blocks.size());
  for (std::size_t i = 0; i < submitted.blocks.size(); ++i)
    CHECK(submitted.blocks[i] == feed.destination_blocks[i].block);
  CHECK(effects_of(result.state, opened()).empty()); // said twice
}

TEST_CASE("mapped, a whole hand-off releases what there is, and keeps nothing for later") {
  const state done = after(at_work(50), {computed, quiet, feed_received{first_lane()}});
  CHECK(effects_of(done, feed_received{last_lane()})
        == "end_sequence quarantine_blocks reclaim_blocks");
}

TEST_CASE("mapped, a draining hold ends the sequence on its ranks before its feeds have ended") {
  const state stopping = after(at_work(), {cancelled});
  const auto quieted = machine::step(stopping, quiet);
  CHECK(types_of(quieted.effects) == "end_sequence");
  CHECK(machine::name_of(quieted.state) == std::string("draining"));
  const state one_feed = after(quieted.state, {feed_stopped{first_lane(), {}}});
  CHECK(effects_of(one_feed, feed_stopped{last_lane(), {}}) == "quarantine_blocks reclaim_blocks");
  CHECK(effects_of(after(at_work(), {computed, quiet}), cancelled)
        == "withdraw_feed withdraw_feed end_sequence");
}

TEST_CASE("mapped, a hold that was never let in has written nothing") {
  CHECK(effects_of(begun(), cancelled) == "quarantine_blocks reclaim_blocks");
}
