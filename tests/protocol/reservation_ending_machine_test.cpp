#include "tests/protocol/reservation_states.hpp"

#include <doctest/doctest.h>

using namespace baton::tests;
using namespace baton::tests::reservation_states;

TEST_CASE("a retiring reservation takes evidence and nothing else") {
  table(retiring(), R"(
    begin_reservation -> aborts
    manifest_offered -> same
    manifest_offered, another dtype -> same
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> quarantined: reservation_quarantined
    commit -> retiring: commit_refused
    commit, another generation -> retiring: commit_refused
    revoke_reservation -> same
    lease_expired -> same
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("the readers' quiescence is the last evidence of a retiring reservation") {
  table(retiring_lanes_stopped(), R"(
    begin_reservation -> aborts
    manifest_offered -> same
    manifest_offered, another dtype -> same
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> same
    commit -> retiring: commit_refused
    commit, another generation -> retiring: commit_refused
    revoke_reservation -> same
    lease_expired -> same
    sequence_finished -> same
    sequence_quiesced -> reclaiming: forget_attempt reclaim_blocks
    hold_ended -> same
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a draining reservation refuses commits while its lanes may still be written") {
  table(draining(), R"(
    begin_reservation -> aborts
    manifest_offered -> same
    manifest_offered, another dtype -> same
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> quarantined: reservation_quarantined
    commit -> draining: commit_refused
    commit, another generation -> draining: commit_refused
    revoke_reservation -> same
    lease_expired -> same
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("the last lane's stop evidence reclaims a draining reservation") {
  table(draining_last(), R"(
    begin_reservation -> aborts
    manifest_offered -> same
    manifest_offered, another dtype -> same
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> reclaiming: forget_attempt reclaim_blocks
    lane_lost -> quarantined: reservation_quarantined
    commit -> draining: commit_refused
    commit, another generation -> draining: commit_refused
    revoke_reservation -> same
    lease_expired -> same
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("late evidence is the way out of the quarantine") {
  table(quarantined(), R"(
    begin_reservation -> aborts
    manifest_offered -> same
    manifest_offered, another dtype -> same
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> reclaiming: forget_attempt reclaim_blocks
    lane_lost -> same
    commit -> quarantined: commit_refused
    commit, another generation -> quarantined: commit_refused
    revoke_reservation -> same
    lease_expired -> same
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a quarantined reservation with readers is not reclaimed by one of two proofs") {
  table(quarantined_readers(), R"(
    begin_reservation -> aborts
    manifest_offered -> same
    manifest_offered, another dtype -> same
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> same
    commit -> quarantined: commit_refused
    commit, another generation -> quarantined: commit_refused
    revoke_reservation -> same
    lease_expired -> same
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a reservation being reclaimed waits for the pool's word alone") {
  table(reclaiming(), R"(
    begin_reservation -> aborts
    manifest_offered -> same
    manifest_offered, another dtype -> same
    lane_opened -> same
    lane_landed -> same
    lane_landed, another digest -> same
    lane_failed -> same
    lane_stopped -> same
    lane_lost -> same
    commit -> reclaiming: commit_refused
    commit, another generation -> reclaiming: commit_refused
    revoke_reservation -> same
    lease_expired -> same
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
    lease_expired -> same
    sequence_finished -> same
    sequence_quiesced -> same
    hold_ended -> same
    blocks_reclaimed -> same
  )");
}

