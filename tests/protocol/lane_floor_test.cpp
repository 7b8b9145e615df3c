#include "protocol/lane_floor.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;

namespace {
const lane_peer peer{0};
const lane_peer other_peer{1};
block_ref ref(std::uint32_t block, std::uint64_t gen) { return {{block}, {gen}}; }
} // namespace

TEST_CASE("a lane begins once, and a later grant of its block begins again") {
  lane_floor floor;
  CHECK(floor.may_begin(peer, ref(4, 1)));
  CHECK_FALSE(floor.may_begin(peer, ref(4, 1)));
  CHECK(floor.may_begin(peer, ref(4, 2)));
  CHECK_FALSE(floor.may_begin(peer, ref(4, 1))); // its open_lane was overtaken by a whole life
}

TEST_CASE("a lane that was stopped before it was opened never begins") {
  lane_floor floor;
  floor.forbid(peer, ref(4, 3));
  CHECK_FALSE(floor.may_begin(peer, ref(4, 3)));
  CHECK_FALSE(floor.may_begin(peer, ref(4, 2)));
  CHECK(floor.may_begin(peer, ref(4, 4)));
}

TEST_CASE("lanes of one grant from two peers, and grants of two blocks, do not hinder each other") {
  lane_floor floor;
  floor.forbid(peer, ref(4, 3));
  CHECK(floor.may_begin(other_peer, ref(4, 3)));
  CHECK(floor.may_begin(peer, ref(5, 1)));
}

TEST_CASE("how a lane ended is known until its block is granted again") {
  lane_floor floor;
  CHECK(floor.may_begin(peer, ref(4, 1)));
  CHECK_FALSE(floor.was_received(peer, ref(4, 1)));
  floor.note_received(peer, ref(4, 1));
  CHECK(floor.was_received(peer, ref(4, 1)));
  floor.forbid(peer, ref(4, 1)); // changes nothing of a lane that has begun
  CHECK(floor.was_received(peer, ref(4, 1)));
  CHECK(floor.may_begin(peer, ref(4, 2)));
  CHECK_FALSE(floor.was_received(peer, ref(4, 1)));
  CHECK_FALSE(floor.was_received(peer, ref(4, 2)));
  floor.note_received(peer, ref(4, 1)); // late
  CHECK_FALSE(floor.was_received(peer, ref(4, 2)));
}

TEST_CASE("a rank that was asked for a feed it does not have never begins it afterwards") {
  const lane_id lane{{{1, 1}, 5}, {0}, {1}};
  lane_floor feeds;
  CHECK(std::holds_alternative<feed_stopped>(meet_absent(feeds, ask_feed{lane, ref(4, 1)})));
  open_feed late;
  late.lane = lane;
  late.source_blocks = {ref(4, 1)};
  const auto ended = meet_absent(feeds, late);
  REQUIRE(ended.has_value());
  CHECK(std::holds_alternative<feed_stopped>(*ended));
}

TEST_CASE("a rank says of a feed that ended by its receipt that it was received, again and again") {
  const lane_id lane{{{1, 1}, 5}, {0}, {1}};
  lane_floor feeds;
  open_feed opened;
  opened.lane = lane;
  opened.source_blocks = {ref(4, 1)};
  CHECK_FALSE(meet_absent(feeds, opened).has_value());
  feeds.note_received(reader_of(lane), ref(4, 1));
  const ask_feed asked{lane, ref(4, 1)};
  const withdraw_feed withdrawn{lane, ref(4, 1)};
  for (int times = 0; times < 2; ++times) {
    CHECK(std::holds_alternative<feed_received>(meet_absent(feeds, asked)));
    CHECK(std::holds_alternative<feed_received>(meet_absent(feeds, withdrawn)));
  }
}

TEST_CASE("a reader's next life counts from the beginning again, and its feeds begin too") {
  lane_floor feeds;
  open_feed opened;
  opened.lane = {{{1, 1}, 5}, {0}, {1}};
  opened.source_blocks = {ref(4, 3)}; // mapped: the reader's own
  CHECK_FALSE(meet_absent(feeds, opened).has_value());
  feeds.note_received(reader_of(opened.lane), ref(4, 3));
  opened.lane.reservation = {{1, 2}, 1};
  opened.source_blocks = {ref(4, 1)};
  CHECK_FALSE(meet_absent(feeds, opened).has_value());
  CHECK(std::holds_alternative<feed_stopped>(
    meet_absent(feeds, ask_feed{opened.lane, ref(4, 1)})));
}

TEST_CASE("a rank begins each lane once, and says of every other word for it that it has stopped") {
  open_lane opened;
  opened.lane = {{{1, 1}, 5}, {0}, {1}};
  opened.blocks = {ref(4, 1)};
  lane_floor lanes;
  CHECK_FALSE(meet_absent(lanes, opened).has_value());
  CHECK(meet_absent(lanes, opened).has_value());
  CHECK(meet_absent(lanes, stop_lane{opened.lane, ref(4, 1)}).lane == opened.lane);
  lane_floor stopped_first;
  CHECK(meet_absent(stopped_first, stop_lane{opened.lane, ref(4, 1)}).lane == opened.lane);
  CHECK(meet_absent(stopped_first, opened).has_value());
}
