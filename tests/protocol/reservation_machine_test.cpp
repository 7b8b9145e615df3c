#include "tests/protocol/reservation_states.hpp"

#include <doctest/doctest.h>

using namespace baton::tests;
using namespace baton::tests::reservation_states;

TEST_CASE("nothing but its grant may reach a reservation before it has begun") {
  table(nascent(), R"(
    begin_reservation -> reserved: reserve_granted arm_lease
    manifest_offered -> aborts
    manifest_offered, another dtype -> aborts
    lane_opened -> aborts
    lane_landed -> aborts
    lane_landed, another digest -> aborts
    lane_failed -> aborts
    lane_stopped -> aborts
    lane_lost -> aborts
    commit -> aborts
    commit, another generation -> aborts
    revoke_reservation -> aborts
    query_reservation -> aborts
    manifest_offered, another hold -> aborts
    lease_expired -> aborts
    evidence_due -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> aborts
    hold_ended -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a reserved reservation opens its lanes for a matching offer and no other") {
  table(reserved(), R"(
    begin_reservation -> aborts
    manifest_offered -> reserved: open_lane open_lane arm_evidence
    manifest_offered, another dtype -> reclaiming: reservation_revoked quarantine_blocks
      + forget_attempt reclaim_blocks
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> aborts
    commit -> reserved: commit_refused
    commit, another generation -> reserved: commit_refused
    revoke_reservation -> reclaiming: quarantine_blocks forget_attempt reclaim_blocks
    query_reservation -> reserved: reserve_granted
    manifest_offered, another hold -> reserved: open_lane open_lane arm_evidence
    lease_expired -> reclaiming: reservation_revoked quarantine_blocks forget_attempt reclaim_blocks
    evidence_due -> same
    sequence_finished -> aborts
    sequence_quiesced -> aborts
    hold_ended -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a reservation whose lanes are not all open offers nothing to its source") {
  table(opening(), R"(
    begin_reservation -> aborts
    manifest_offered -> same
    manifest_offered, another dtype -> same
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> draining: reservation_revoked quarantine_blocks stop_lane stop_lane
    lane_stopped -> same
    lane_lost -> quarantined: reservation_revoked quarantine_blocks stop_lane
      + reservation_quarantined
    commit -> reserved: commit_refused
    commit, another generation -> reserved: commit_refused
    revoke_reservation -> draining: quarantine_blocks stop_lane stop_lane
    query_reservation -> reserved: reserve_granted
    manifest_offered, another hold -> reserved: transfer_refused
    lease_expired -> draining: reservation_revoked quarantine_blocks stop_lane stop_lane
    evidence_due -> reserved: open_lane open_lane arm_evidence
    sequence_finished -> aborts
    sequence_quiesced -> aborts
    hold_ended -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a receiving reservation refuses every commit") {
  table(receiving(), R"(
    begin_reservation -> aborts
    manifest_offered -> receiving: transfer_opened
    manifest_offered, another dtype -> receiving: transfer_opened
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> draining: reservation_revoked quarantine_blocks stop_lane stop_lane
    lane_stopped -> same
    lane_lost -> quarantined: reservation_revoked quarantine_blocks stop_lane
      + reservation_quarantined
    commit -> receiving: commit_refused
    commit, another generation -> receiving: commit_refused
    revoke_reservation -> draining: quarantine_blocks stop_lane stop_lane
    query_reservation -> same
    manifest_offered, another hold -> receiving: transfer_refused
    lease_expired -> draining: reservation_revoked quarantine_blocks stop_lane stop_lane
    evidence_due -> receiving: ask_lane ask_lane arm_evidence
    sequence_finished -> aborts
    sequence_quiesced -> aborts
    hold_ended -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("the last lane completes a reservation only with the digest of the others") {
  table(one_landed(), R"(
    begin_reservation -> aborts
    manifest_offered -> receiving: transfer_opened
    manifest_offered, another dtype -> receiving: transfer_opened
    lane_opened -> same
    lane_landed -> complete: transfer_completed stop_lane stop_lane
    lane_landed, another digest -> draining: reservation_revoked quarantine_blocks stop_lane
      + stop_lane
    lane_failed -> draining: reservation_revoked quarantine_blocks stop_lane stop_lane
    lane_stopped -> same
    lane_lost -> quarantined: reservation_revoked quarantine_blocks stop_lane
      + reservation_quarantined
    commit -> receiving: commit_refused
    commit, another generation -> receiving: commit_refused
    revoke_reservation -> draining: quarantine_blocks stop_lane stop_lane
    query_reservation -> same
    manifest_offered, another hold -> receiving: transfer_refused
    lease_expired -> draining: reservation_revoked quarantine_blocks stop_lane stop_lane
    evidence_due -> receiving: ask_lane arm_evidence
    sequence_finished -> aborts
    sequence_quiesced -> aborts
    hold_ended -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a complete reservation commits to the attempt and generation of its grant only") {
  table(complete(), R"(
    begin_reservation -> aborts
    manifest_offered -> complete: transfer_opened
    manifest_offered, another dtype -> complete: transfer_opened
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> quarantined: reservation_revoked quarantine_blocks stop_lane
      + reservation_quarantined
    commit -> live: mark_live committed activate_sequence
    commit, another generation -> complete: commit_refused
    revoke_reservation -> draining: quarantine_blocks stop_lane stop_lane
    query_reservation -> complete: transfer_completed
    manifest_offered, another hold -> complete: transfer_refused
    lease_expired -> draining: reservation_revoked quarantine_blocks stop_lane stop_lane
    evidence_due -> complete: stop_lane stop_lane arm_evidence
    sequence_finished -> aborts
    sequence_quiesced -> aborts
    hold_ended -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a live reservation knows no lease and commits no second time") {
  table(live(), R"(
    begin_reservation -> aborts
    manifest_offered -> live: transfer_opened
    manifest_offered, another dtype -> live: transfer_opened
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> same
    commit -> live: committed
    commit, another generation -> live: commit_refused
    revoke_reservation -> retiring: cancel_sequence quarantine_blocks stop_lane stop_lane
    query_reservation -> live: committed
    manifest_offered, another hold -> live: transfer_refused
    lease_expired -> same
    evidence_due -> live: stop_lane stop_lane arm_evidence
    sequence_finished -> retiring: decode_finished quarantine_blocks stop_lane stop_lane
    sequence_quiesced -> same
    hold_ended -> retiring: quarantine_blocks stop_lane stop_lane
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a live reservation whose lanes have stopped waits for its readers") {
  table(live_lanes_stopped(), R"(
    begin_reservation -> aborts
    manifest_offered -> live: transfer_opened
    manifest_offered, another dtype -> live: transfer_opened
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> same
    commit -> live: committed
    commit, another generation -> live: commit_refused
    revoke_reservation -> retiring: cancel_sequence quarantine_blocks
    query_reservation -> live: committed
    manifest_offered, another hold -> live: transfer_refused
    lease_expired -> same
    evidence_due -> same
    sequence_finished -> retiring: decode_finished quarantine_blocks
    sequence_quiesced -> same
    hold_ended -> retiring: quarantine_blocks
    blocks_reclaimed -> aborts
  )");
}

