#include "protocol/lane_floor.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;

namespace {
const rank_id peer{0};
const rank_id other_peer{1};
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
