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
    = reservation::step(reserved(), first_offer(), at_ms(sample_lease_ms));
  CHECK(machine::name_of(late.state) == std::string("reclaiming"));
  CHECK(std::get<reservation_revoked>(late.effects.at(0)).why.why == reason::lease_expired);
}

TEST_CASE("a script's hold keeps the memory after the last token, and a cancel ends the hold") {
  begin_reservation begun = sample_begin();
  begun.opened.asked.spec.hold_ms = 50;
  const state begin = reservation::step({}, begun, at_ms(0)).state;
  const state committed
    = after(begin, {first_offer(), lane_opened{first_lane},
                    lane_opened{last_lane}, lane_landed{first_lane, 5}, lane_landed{last_lane, 5},
                    sample_commit(sample_granted().granted), lane_stopped{first_lane},
                    lane_stopped{last_lane}});
  const auto ended = machine::step(committed, finished);
  CHECK(types_of(ended.effects) == "decode_finished arm_hold");
  const state held = after(ended.state, {sequence_quiesced{{1}}});
  CHECK(machine::name_of(held) == std::string("live"));
  const auto over = machine::step(held, hold_ended{});
  CHECK(types_of(over.effects) == "quarantine_blocks forget_attempt reclaim_blocks");
  const auto cancelled
    = machine::step(held, revoke_reservation{sample_attempt(), granted_id, some_reason});
  CHECK(types_of(cancelled.effects) == "quarantine_blocks forget_attempt reclaim_blocks");
}

TEST_CASE("a lane that the reservation never opened changes nothing") {
  const lane_id unknown{granted_id, {0}, {1}};
  CHECK(cell<machine>(opening(), lane_opened{unknown}) == "same");
  CHECK(cell<machine>(opening(), lane_failed{unknown, some_reason}) == "same");
  CHECK(cell<machine>(receiving(), lane_landed{unknown, 5}) == "same");
  CHECK(cell<machine>(draining(), lane_stopped{unknown}) == "same");
}

TEST_CASE("only this node says that a lane is lost: of one never opened it is a broken invariant") {
  const lane_id unknown{granted_id, {0}, {1}};
  CHECK(cell<machine>(opening(), lane_lost{unknown, some_reason}) == "aborts");
}

TEST_CASE("a landing that overtakes its lane's opening says that too") {
  const state s = after(opening(), {lane_landed{first_lane, 5}});
  CHECK(machine::name_of(s) == std::string("reserved"));
  const auto opened = machine::step(s, lane_opened{last_lane});
  CHECK(machine::name_of(opened.state) == std::string("receiving"));
  const auto landed = machine::step(s, lane_landed{last_lane, 5});
  CHECK(machine::name_of(landed.state) == std::string("complete"));
  CHECK(types_of(landed.effects) == "transfer_opened transfer_completed stop_lane stop_lane");
}

TEST_CASE("a grant is repeated with what is left of its lease, and not after it") {
  const query_reservation asked{sample_attempt(), granted_id};
  const auto again = reservation::step(reserved(), asked, at_ms(400));
  CHECK(std::get<reserve_granted>(again.effects.at(0)).granted.lease_ms == sample_lease_ms - 400);
  const auto late = reservation::step(reserved(), asked, at_ms(sample_lease_ms));
  CHECK(machine::name_of(late.state) == std::string("reclaiming"));
}

TEST_CASE("lanes that have not spoken are asked, each for what is missing") {
  const auto due = [](const state& s) {
    return types_of(machine::step(s, evidence_due{}).effects);
  };
  CHECK(due(opening()) == "open_lane open_lane arm_evidence");
  CHECK(due(after(opening(), {lane_opened{first_lane}})) == "ask_lane open_lane arm_evidence");
  CHECK(due(one_landed()) == "ask_lane arm_evidence");
  CHECK(due(draining_last()) == "stop_lane arm_evidence");
  CHECK(due(live_lanes_stopped()).empty());
  CHECK(due(quarantined()).empty()); // the other lane's node is lost
}

TEST_CASE("a finished reservation answers its attempt's commit and question by the finish") {
  for (const state& s : {retiring(), retiring_lanes_stopped()}) {
    CHECK(types_of(machine::step(s, sample_commit(sample_granted().granted)).effects)
          == "decode_finished");
    CHECK(types_of(machine::step(s, query_reservation{sample_attempt(), granted_id}).effects)
          == "decode_finished");
  }
}
