#include "tests/protocol/reservation_states.hpp"

#include <doctest/doctest.h>

using namespace baton::tests;
using namespace baton::tests::reservation_states;

TEST_CASE("a retiring reservation takes evidence and nothing else") {
  table(retiring(), R"(
    begin_reservation -> aborts
    manifest_offered -> retiring: transfer_refused
    manifest_offered, another dtype -> retiring: transfer_refused
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> quarantined: reservation_quarantined
    commit -> retiring: decode_finished
    commit, another generation -> retiring: commit_refused
    revoke_reservation -> same
    query_reservation -> retiring: decode_finished
    manifest_offered, another hold -> retiring: transfer_refused
    lease_expired -> same
    evidence_due -> retiring: stop_lane stop_lane arm_evidence
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("the readers' quiescence is the last evidence of a retiring reservation") {
  table(retiring_lanes_stopped(), R"(
    begin_reservation -> aborts
    manifest_offered -> retiring: transfer_refused
    manifest_offered, another dtype -> retiring: transfer_refused
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> same
    commit -> retiring: decode_finished
    commit, another generation -> retiring: commit_refused
    revoke_reservation -> same
    query_reservation -> retiring: decode_finished
    manifest_offered, another hold -> retiring: transfer_refused
    lease_expired -> same
    evidence_due -> same
    sequence_finished -> same
    sequence_quiesced -> reclaiming: forget_attempt reclaim_blocks
    hold_ended -> same
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a draining reservation refuses commits while its lanes may still be written") {
  table(draining(), R"(
    begin_reservation -> aborts
    manifest_offered -> draining: transfer_refused
    manifest_offered, another dtype -> draining: transfer_refused
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> quarantined: reservation_quarantined
    commit -> draining: commit_refused
    commit, another generation -> draining: commit_refused
    revoke_reservation -> same
    query_reservation -> draining: reservation_revoked
    manifest_offered, another hold -> draining: transfer_refused
    lease_expired -> same
    evidence_due -> draining: stop_lane stop_lane arm_evidence
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("the last lane's stop evidence reclaims a draining reservation") {
  table(draining_last(), R"(
    begin_reservation -> aborts
    manifest_offered -> draining: transfer_refused
    manifest_offered, another dtype -> draining: transfer_refused
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> reclaiming: forget_attempt reclaim_blocks
    lane_lost -> quarantined: reservation_quarantined
    commit -> draining: commit_refused
    commit, another generation -> draining: commit_refused
    revoke_reservation -> same
    query_reservation -> draining: reservation_revoked
    manifest_offered, another hold -> draining: transfer_refused
    lease_expired -> same
    evidence_due -> draining: stop_lane arm_evidence
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("late evidence is the way out of the quarantine") {
  table(quarantined(), R"(
    begin_reservation -> aborts
    manifest_offered -> quarantined: transfer_refused
    manifest_offered, another dtype -> quarantined: transfer_refused
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> reclaiming: forget_attempt reclaim_blocks
    lane_lost -> same
    commit -> quarantined: commit_refused
    commit, another generation -> quarantined: commit_refused
    revoke_reservation -> same
    query_reservation -> quarantined: reservation_quarantined
    manifest_offered, another hold -> quarantined: transfer_refused
    lease_expired -> same
    evidence_due -> same
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a quarantined reservation with readers is not reclaimed by one of two proofs") {
  table(quarantined_readers(), R"(
    begin_reservation -> aborts
    manifest_offered -> quarantined: transfer_refused
    manifest_offered, another dtype -> quarantined: transfer_refused
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> same
    commit -> quarantined: reservation_quarantined
    commit, another generation -> quarantined: commit_refused
    revoke_reservation -> same
    query_reservation -> quarantined: reservation_quarantined
    manifest_offered, another hold -> quarantined: transfer_refused
    lease_expired -> same
    evidence_due -> quarantined: stop_lane arm_evidence
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a reservation being reclaimed waits for the pool's word alone") {
  table(reclaiming(), R"(
    begin_reservation -> aborts
    manifest_offered -> reclaiming: transfer_refused
    manifest_offered, another dtype -> reclaiming: transfer_refused
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> same
    commit -> reclaiming: commit_refused
    commit, another generation -> reclaiming: commit_refused
    revoke_reservation -> same
    query_reservation -> reclaiming: reservation_revoked
    manifest_offered, another hold -> reclaiming: transfer_refused
    lease_expired -> same
    evidence_due -> same
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> reclaimed: reservation_reclaimed end_actor
  )");
}

TEST_CASE("a reclaimed reservation is told everything in vain") {
  table(reclaimed(), R"(
    begin_reservation -> aborts
    manifest_offered -> same
    manifest_offered, another dtype -> same
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> same
    commit -> same
    commit, another generation -> same
    revoke_reservation -> same
    query_reservation -> same
    manifest_offered, another hold -> same
    lease_expired -> same
    evidence_due -> same
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> same
  )");
}

