#include "tests/protocol/source_hold_states.hpp"

#include <doctest/doctest.h>

using namespace baton::tests;
using namespace baton::tests::hold_states;

TEST_CASE("a draining hold collects its readers' words and its kernels' quiescence") {
  table(draining(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    transfer_refused -> same
    transfer_refused, another hold -> same
    prefill_computed -> same
    sequence_finished -> same
    sequence_quiesced -> same
    feed_opened -> same
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> same
    stop_lane -> same
    cancel_source -> same
    query_source -> same
    evidence_due -> draining: withdraw_feed withdraw_feed arm_evidence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("running kernels keep a hold whose readers are gone") {
  table(draining_kernels(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    transfer_refused -> same
    transfer_refused, another hold -> same
    prefill_computed -> same
    sequence_finished -> same
    sequence_quiesced -> releasing: end_sequence quarantine_blocks reclaim_blocks
    feed_opened -> same
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> same
    stop_lane -> same
    cancel_source -> same
    query_source -> same
    evidence_due -> draining: arm_evidence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("an unheard reader keeps a hold whose kernels are quiet") {
  table(draining_reader(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    transfer_refused -> same
    transfer_refused, another hold -> same
    prefill_computed -> same
    sequence_finished -> same
    sequence_quiesced -> same
    feed_opened -> same
    feed_received -> releasing: end_sequence quarantine_blocks reclaim_blocks
    feed_stopped -> releasing: end_sequence quarantine_blocks reclaim_blocks
    feed_rejected -> same
    stop_lane -> same
    cancel_source -> same
    query_source -> same
    evidence_due -> draining: withdraw_feed arm_evidence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a releasing hold waits for the pool's word alone") {
  table(releasing(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    transfer_refused -> same
    transfer_refused, another hold -> same
    prefill_computed -> aborts
    sequence_finished -> same
    sequence_quiesced -> aborts
    feed_opened -> same
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> same
    stop_lane -> same
    cancel_source -> same
    query_source -> same
    evidence_due -> same
    retention_expired -> same
    blocks_reclaimed -> released: source_released end_actor
  )");
}

TEST_CASE("a released hold is told everything in vain") {
  table(released(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    transfer_refused -> same
    transfer_refused, another hold -> same
    prefill_computed -> same
    sequence_finished -> same
    sequence_quiesced -> same
    feed_opened -> same
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> same
    stop_lane -> same
    cancel_source -> same
    query_source -> same
    evidence_due -> same
    retention_expired -> same
    blocks_reclaimed -> same
  )");
}

TEST_CASE("in place nothing is computed before the reservation has opened the lane") {
  table(in_place(), R"(
    begin_hold -> aborts
    transfer_opened -> computing: submit_prefill
    transfer_refused -> releasing: source_failed lane_stopped quarantine_blocks reclaim_blocks
    transfer_refused, another hold -> same
    prefill_computed -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> aborts
    feed_opened -> same
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> computing: source_failed
    stop_lane -> releasing: lane_stopped quarantine_blocks reclaim_blocks
    cancel_source -> releasing: lane_stopped quarantine_blocks reclaim_blocks
    query_source -> computing: prefill_accepted
    evidence_due -> computing: manifest_offered arm_evidence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )", mixed);
}

TEST_CASE("in place a stop or a cancel waits for the kernels") {
  table(in_place_computing(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    transfer_refused -> draining: cancel_sequence
    transfer_refused, another hold -> same
    prefill_computed -> offered: prefill_finished lane_landed
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
  )", mixed);
}

TEST_CASE("in place the hold's quiescence is the lane's stop evidence") {
  table(in_place_offered(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    transfer_refused -> releasing: lane_stopped end_sequence quarantine_blocks reclaim_blocks
    transfer_refused, another hold -> same
    prefill_computed -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> same
    feed_opened -> same
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> offered: source_failed
    stop_lane -> releasing: lane_stopped end_sequence quarantine_blocks reclaim_blocks
    cancel_source -> releasing: lane_stopped end_sequence quarantine_blocks reclaim_blocks
    query_source -> offered: prefill_finished
    evidence_due -> offered: arm_evidence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )", mixed);
}

TEST_CASE("a scripted falsification changes the offer only") {
  begin_hold begun = sample_begin_hold();
  begun.opened.asked.spec.fault.manifest_field = "model.dtype";
  const auto result = machine::step({}, begun);
  const auto& offer = std::get<manifest_offered>(result.effects.at(1)).offered;
  CHECK(offer.model.dtype != sample_model().dtype);
}

TEST_CASE("an offer that was turned away is reported once") {
  const auto first = machine::step(computing_fed(), feed_rejected{last_lane(), some_reason});
  CHECK(types_of(first.effects) == "source_failed");
  CHECK(machine::step(first.state, feed_rejected{first_lane(), some_reason}).effects.empty());
}

TEST_CASE("a mixed outcome of the feeds still releases the source") {
  const auto result = machine::step(offered_last(), feed_stopped{last_lane(), some_reason});
  CHECK(machine::name_of(result.state) == std::string("releasing"));
  CHECK(types_of(result.effects) == "end_sequence quarantine_blocks reclaim_blocks");
}

TEST_CASE("a feed that the hold never opened changes nothing") {
  const lane_id unknown{granted_id(), {0}, {1}};
  CHECK(cell<machine>(offered(), feed_received{unknown}) == "same");
  CHECK(cell<machine>(offered(), feed_stopped{unknown, {}}) == "same");
  CHECK(cell<machine>(draining(), feed_stopped{unknown, {}}) == "same");
}

TEST_CASE("a hold asks each feed for what is missing, and its reader's end when it drains") {
  const auto due = [](const state& s) {
    return types_of(machine::step(s, evidence_due{}).effects);
  };
  CHECK(due(computing()) == "manifest_offered arm_evidence");
  CHECK(due(computing_fed()) == "open_feed open_feed arm_evidence");
  CHECK(due(after(computing_fed(), {feed_opened{first_lane()}}))
        == "ask_feed open_feed arm_evidence");
  CHECK(due(offered_last()) == "open_feed arm_evidence");
  CHECK(due(draining()) == "withdraw_feed withdraw_feed arm_evidence");
  CHECK(due(draining_kernels()) == "arm_evidence");
}

TEST_CASE("an offer that nobody answers ends with the lease that it was made for") {
  const state s = computing();
  const auto before = source_hold::step(s, evidence_due{}, {at_ms(sample_lease_ms).ns - 1});
  CHECK(machine::name_of(before.state) == std::string("computing"));
  const auto over = source_hold::step(s, evidence_due{}, at_ms(sample_lease_ms));
  CHECK(machine::name_of(over.state) == std::string("draining"));
  CHECK(types_of(over.effects) == "source_failed cancel_sequence");
  const auto opened_late = source_hold::step(computing_fed(), evidence_due{}, at_ms(9'000));
  CHECK(machine::name_of(opened_late.state) == std::string("computing")); // somebody may read
}

TEST_CASE("an answer names the last word that the attempt was told") {
  const query_source asked{sample_attempt(), sample_hold().hold};
  const auto failed = after(computing_fed(), {feed_rejected{last_lane(), some_reason}});
  CHECK(types_of(machine::step(failed, asked).effects) == "source_failed");
  CHECK(types_of(machine::step(after(failed, {cancelled}), asked).effects) == "source_failed");
}
