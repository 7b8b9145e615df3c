#include "tests/protocol/source_hold_states.hpp"

#include <doctest/doctest.h>

using namespace baton::tests;
using namespace baton::tests::hold_states;

TEST_CASE("a hold begins with its blocks and nothing else") {
  table(nascent(), R"(
    begin_hold -> computing: prefill_accepted manifest_offered arm_evidence submit_prefill
    transfer_opened -> aborts
    transfer_refused -> aborts
    transfer_refused, another hold -> aborts
    prefill_computed -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> aborts
    feed_opened -> aborts
    feed_received -> aborts
    feed_stopped -> aborts
    feed_rejected -> aborts
    stop_lane -> aborts
    cancel_source -> aborts
    query_source -> aborts
    evidence_due -> aborts
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a computing hold opens its feeds when the destination is ready") {
  table(computing(), R"(
    begin_hold -> aborts
    transfer_opened -> computing: open_feed open_feed
    transfer_refused -> draining: source_failed cancel_sequence
    transfer_refused, another hold -> same
    prefill_computed -> offered: prefill_finished
    sequence_finished -> draining: source_failed
    sequence_quiesced -> aborts
    feed_opened -> same
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> computing: source_failed
    stop_lane -> draining: cancel_sequence
    cancel_source -> draining: cancel_sequence
    query_source -> computing: prefill_accepted
    evidence_due -> computing: manifest_offered arm_evidence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a stop by the reader or a failed computation drains the hold unasked") {
  table(computing_fed(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    transfer_refused -> draining: cancel_sequence withdraw_feed withdraw_feed
    transfer_refused, another hold -> same
    prefill_computed -> offered: prefill_finished
    sequence_finished -> draining: source_failed withdraw_feed withdraw_feed
    sequence_quiesced -> aborts
    feed_opened -> same
    feed_received -> same
    feed_stopped -> draining: cancel_sequence withdraw_feed
    feed_rejected -> computing: source_failed
    stop_lane -> draining: cancel_sequence withdraw_feed withdraw_feed
    cancel_source -> draining: cancel_sequence withdraw_feed withdraw_feed
    query_source -> computing: prefill_accepted
    evidence_due -> computing: open_feed open_feed arm_evidence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a receipt may overtake the slowest rank's last completion") {
  table(computing_received(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    transfer_refused -> draining: cancel_sequence
    transfer_refused, another hold -> same
    prefill_computed -> offered: prefill_finished
    sequence_finished -> draining: source_failed
    sequence_quiesced -> aborts
    feed_opened -> same
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> computing: source_failed
    stop_lane -> draining: cancel_sequence
    cancel_source -> draining: cancel_sequence
    query_source -> computing: prefill_accepted
    evidence_due -> computing: arm_evidence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("an offered hold waits for every reader") {
  table(offered(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    transfer_refused -> draining: withdraw_feed withdraw_feed
    transfer_refused, another hold -> same
    prefill_computed -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> same
    feed_opened -> same
    feed_received -> same
    feed_stopped -> draining: withdraw_feed
    feed_rejected -> offered: source_failed
    stop_lane -> draining: withdraw_feed withdraw_feed
    cancel_source -> draining: withdraw_feed withdraw_feed
    query_source -> offered: prefill_finished
    evidence_due -> offered: open_feed open_feed arm_evidence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("the last receipt releases an offered hold") {
  table(offered_last(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    transfer_refused -> draining: withdraw_feed
    transfer_refused, another hold -> same
    prefill_computed -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> same
    feed_opened -> same
    feed_received -> releasing: end_sequence quarantine_blocks reclaim_blocks
    feed_stopped -> releasing: end_sequence quarantine_blocks reclaim_blocks
    feed_rejected -> offered: source_failed
    stop_lane -> draining: withdraw_feed
    cancel_source -> draining: withdraw_feed
    query_source -> offered: prefill_finished
    evidence_due -> offered: open_feed arm_evidence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a retained hold is released by time or cancel, never by words said twice") {
  table(retained(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    transfer_refused -> releasing: end_sequence quarantine_blocks reclaim_blocks
    transfer_refused, another hold -> same
    prefill_computed -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> aborts
    feed_opened -> same
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> same
    stop_lane -> aborts
    cancel_source -> releasing: end_sequence quarantine_blocks reclaim_blocks
    query_source -> retained: prefill_finished
    evidence_due -> same
    retention_expired -> releasing: end_sequence quarantine_blocks reclaim_blocks
    blocks_reclaimed -> aborts
  )");
}
