#include "tests/protocol/reservation_states.hpp"

#include <doctest/doctest.h>

using namespace baton::tests;
using namespace baton::tests::reservation_states;

TEST_CASE("evidence out of order still empties the quarantine") {
  const state s = after(quarantined_readers(), {lane_stopped{last_lane}, lane_stopped{first_lane}});
  CHECK(machine::name_of(s) == std::string("quarantined"));
  const auto result = machine::step(s, sequence_quiesced{{1}});
  CHECK(machine::name_of(result.state) == std::string("reclaiming"));
  CHECK(types_of(result.effects) == "forget_attempt reclaim_blocks");
}

TEST_CASE("a first digest of zero is a digest like any other") {
  const auto result
    = machine::step(after(receiving(), {lane_landed{first_lane, 0}}), lane_landed{last_lane, 5});
  CHECK(machine::name_of(result.state) == std::string("draining"));
  CHECK(std::get<reservation_revoked>(result.effects.at(0)).why.why == reason::corrupt);
}

TEST_CASE("a timer that fires before the lease has ended is armed again") {
  const instant before{at_ms(sample_lease_ms).ns - 1};
  const auto early = reservation::step(complete(), lease_expired{}, before);
  CHECK(machine::name_of(early.state) == std::string("complete"));
  CHECK(types_of(early.effects) == "arm_lease");
}

TEST_CASE("an offer after the lease opens no lane") {
  const auto late
    = reservation::step(reserved(), manifest_offered{sample_offer()}, at_ms(sample_lease_ms));
  CHECK(machine::name_of(late.state) == std::string("reclaiming"));
  CHECK(std::get<reservation_revoked>(late.effects.at(0)).why.why == reason::lease_expired);
}

TEST_CASE("a script's hold keeps the memory after the last token, and a cancel ends the hold") {
  begin_reservation begun = sample_begin();
  begun.opened.asked.spec.hold_ms = 50;
  const state begin = reservation::step({}, begun, at_ms(0)).state;
  const state committed
    = after(begin, {manifest_offered{sample_offer()}, lane_opened{first_lane},
                    lane_opened{last_lane}, lane_landed{first_lane, 5}, lane_landed{last_lane, 5},
                    sample_commit(sample_granted().granted), lane_stopped{first_lane},
                    lane_stopped{last_lane}});
  const auto ended = machine::step(committed, finished);
  CHECK(types_of(ended.effects) == "decode_finished arm_hold");
  const state held = after(ended.state, {sequence_quiesced{{1}}});
  CHECK(machine::name_of(held) == std::string("live"));
  const auto over = machine::step(held, hold_ended{});
  CHECK(types_of(over.effects) == "quarantine_blocks forget_attempt reclaim_blocks");
  const auto cancelled = machine::step(held, revoke_reservation{sample_attempt(), some_reason});
  CHECK(types_of(cancelled.effects) == "quarantine_blocks forget_attempt reclaim_blocks");
}

TEST_CASE("a lane that the reservation never opened is a broken invariant") {
  const lane_id unknown{granted_id, {0}, {1}};
  CHECK(cell<machine>(opening(), lane_opened{unknown}) == "aborts");
  CHECK(cell<machine>(opening(), lane_failed{unknown, some_reason}) == "aborts");
  CHECK(cell<machine>(opening(), lane_lost{unknown, some_reason}) == "aborts");
  CHECK(cell<machine>(receiving(), lane_landed{unknown, 5}) == "aborts");
  CHECK(cell<machine>(draining(), lane_stopped{unknown}) == "aborts");
}
