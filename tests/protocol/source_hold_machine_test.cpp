#include "protocol/source_hold.hpp"

#include "tests/protocol/hand_off_samples.hpp"
#include "tests/protocol/machine_table.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

struct machine {
  using state = source_hold::state;
  using event = source_hold::event;
  static source_hold::step_result step(state before, const event& event) {
    return source_hold::step(std::move(before), event, {});
  }
  static const char* name_of(const state& s) { return source_hold::name_of(s); }
};

using state = source_hold::state;

const hand_off_shape mixed{2, 2, true, 0};
const failure some_reason{reason::cancelled, "the client left"};

reservation_id granted_id() { return sample_granted().granted.reservation; }
lane_id first_lane() { return {granted_id(), {0}, {0}}; }
lane_id last_lane() { return {granted_id(), {1}, {1}}; }

transfer_opened opened() {
  return {granted_id(), plan_lanes(4, 2, 2).value()};
}

transfer_opened opened_in_place() {
  return {granted_id(), {{{0}, {0}, {0, 4}}}};
}

state after(state s, const std::vector<source_hold::event>& events) {
  for (const auto& e : events)
    s = machine::step(std::move(s), e).state;
  return s;
}

const prefill_computed computed{{1}};
const sequence_quiesced quiet{{1}};
const cancel_source cancelled{sample_attempt(), some_reason};

state nascent() { return {}; }
state computing() { return after(nascent(), {sample_begin_hold()}); }
state computing_fed() { return after(computing(), {opened()}); }
state computing_received() {
  return after(computing_fed(), {feed_received{first_lane()}, feed_received{last_lane()}});
}
state offered() { return after(computing_fed(), {computed, quiet}); }
state offered_last() { return after(offered(), {feed_received{first_lane()}}); }
state retained() {
  return after(nascent(), {sample_begin_hold({}, 50), opened(), computed, quiet,
                           feed_received{first_lane()}, feed_received{last_lane()}});
}
state draining() { return after(computing_fed(), {cancelled}); }
state draining_kernels() {
  return after(draining(), {feed_stopped{first_lane(), {}}, feed_stopped{last_lane(), {}}});
}
state draining_reader() { return after(draining(), {feed_stopped{first_lane(), {}}, quiet}); }
state releasing() { return after(offered_last(), {feed_received{last_lane()}}); }
state released() { return after(releasing(), {blocks_reclaimed{sample_hold().hold}}); }

state in_place() { return after(nascent(), {sample_begin_hold(mixed)}); }
state in_place_computing() { return after(in_place(), {opened_in_place()}); }
state in_place_offered() { return after(in_place_computing(), {computed, quiet}); }

std::vector<labelled<source_hold::event>> every_event() {
  return {
    {"begin_hold", sample_begin_hold()},
    {"transfer_opened", opened()},
    {"prefill_computed", computed},
    {"sequence_finished", sequence_finished{{1}, finish_reason::none, some_reason, 0}},
    {"sequence_quiesced", quiet},
    {"feed_received", feed_received{last_lane()}},
    {"feed_stopped", feed_stopped{last_lane(), some_reason}},
    {"feed_rejected", feed_rejected{last_lane(), some_reason}},
    {"stop_lane", stop_lane{source_hold::in_place_lane(granted_id())}},
    {"cancel_source", cancelled},
    {"retention_expired", retention_expired{}},
    {"blocks_reclaimed", blocks_reclaimed{sample_hold().hold}},
  };
}

void table(const state& s, const std::string& expected) {
  check_table<machine>(s, every_event(), expected);
}

} // namespace

TEST_CASE("a hold begins with its blocks and nothing else") {
  table(nascent(), R"(
    begin_hold -> computing: prefill_accepted manifest_offered submit_prefill
    transfer_opened -> aborts
    prefill_computed -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> aborts
    feed_received -> aborts
    feed_stopped -> aborts
    feed_rejected -> aborts
    stop_lane -> aborts
    cancel_source -> aborts
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a computing hold opens its feeds when the destination is ready") {
  table(computing(), R"(
    begin_hold -> aborts
    transfer_opened -> computing: open_feed open_feed
    prefill_computed -> offered: prefill_finished
    sequence_finished -> draining: source_failed
    sequence_quiesced -> aborts
    feed_received -> aborts
    feed_stopped -> aborts
    feed_rejected -> computing: source_failed
    stop_lane -> draining: cancel_sequence
    cancel_source -> draining: cancel_sequence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a stop by the reader or a failed computation drains the hold unasked") {
  table(computing_fed(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    prefill_computed -> offered: prefill_finished
    sequence_finished -> draining: source_failed withdraw_feed withdraw_feed
    sequence_quiesced -> aborts
    feed_received -> same
    feed_stopped -> draining: cancel_sequence withdraw_feed
    feed_rejected -> computing: source_failed
    stop_lane -> draining: cancel_sequence withdraw_feed withdraw_feed
    cancel_source -> draining: cancel_sequence withdraw_feed withdraw_feed
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a receipt may overtake the slowest rank's last completion") {
  table(computing_received(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    prefill_computed -> offered: prefill_finished
    sequence_finished -> draining: source_failed
    sequence_quiesced -> aborts
    feed_received -> same
    feed_stopped -> draining: cancel_sequence
    feed_rejected -> computing: source_failed
    stop_lane -> draining: cancel_sequence
    cancel_source -> draining: cancel_sequence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("an offered hold waits for every reader") {
  table(offered(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    prefill_computed -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> same
    feed_received -> same
    feed_stopped -> draining: withdraw_feed
    feed_rejected -> offered: source_failed
    stop_lane -> draining: withdraw_feed withdraw_feed
    cancel_source -> draining: withdraw_feed withdraw_feed
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("the last receipt releases an offered hold") {
  table(offered_last(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    prefill_computed -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> same
    feed_received -> releasing: end_sequence quarantine_blocks reclaim_blocks
    feed_stopped -> releasing: end_sequence quarantine_blocks reclaim_blocks
    feed_rejected -> offered: source_failed
    stop_lane -> draining: withdraw_feed
    cancel_source -> draining: withdraw_feed
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a retained hold is released by time or cancel, never by words said twice") {
  table(retained(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    prefill_computed -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> aborts
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> same
    stop_lane -> aborts
    cancel_source -> releasing: end_sequence quarantine_blocks reclaim_blocks
    retention_expired -> releasing: end_sequence quarantine_blocks reclaim_blocks
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a draining hold collects its readers' words and its kernels' quiescence") {
  table(draining(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    prefill_computed -> same
    sequence_finished -> same
    sequence_quiesced -> same
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> same
    stop_lane -> same
    cancel_source -> same
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("running kernels keep a hold whose readers are gone") {
  table(draining_kernels(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    prefill_computed -> same
    sequence_finished -> same
    sequence_quiesced -> releasing: end_sequence quarantine_blocks reclaim_blocks
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> same
    stop_lane -> same
    cancel_source -> same
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("an unheard reader keeps a hold whose kernels are quiet") {
  table(draining_reader(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    prefill_computed -> same
    sequence_finished -> same
    sequence_quiesced -> same
    feed_received -> releasing: end_sequence quarantine_blocks reclaim_blocks
    feed_stopped -> releasing: end_sequence quarantine_blocks reclaim_blocks
    feed_rejected -> same
    stop_lane -> same
    cancel_source -> same
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("a releasing hold waits for the pool's word alone") {
  table(releasing(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    prefill_computed -> aborts
    sequence_finished -> same
    sequence_quiesced -> aborts
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> same
    stop_lane -> same
    cancel_source -> same
    retention_expired -> same
    blocks_reclaimed -> released: source_released end_actor
  )");
}

TEST_CASE("a released hold is told everything in vain") {
  table(released(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    prefill_computed -> same
    sequence_finished -> same
    sequence_quiesced -> same
    feed_received -> same
    feed_stopped -> same
    feed_rejected -> same
    stop_lane -> same
    cancel_source -> same
    retention_expired -> same
    blocks_reclaimed -> same
  )");
}

TEST_CASE("in place nothing is computed before the reservation has opened the lane") {
  table(in_place(), R"(
    begin_hold -> aborts
    transfer_opened -> computing: submit_prefill
    prefill_computed -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> aborts
    feed_received -> aborts
    feed_stopped -> aborts
    feed_rejected -> computing: source_failed
    stop_lane -> releasing: lane_stopped quarantine_blocks reclaim_blocks
    cancel_source -> releasing: lane_stopped quarantine_blocks reclaim_blocks
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("in place a stop or a cancel waits for the kernels") {
  table(in_place_computing(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    prefill_computed -> offered: prefill_finished lane_landed
    sequence_finished -> draining: source_failed
    sequence_quiesced -> aborts
    feed_received -> aborts
    feed_stopped -> aborts
    feed_rejected -> computing: source_failed
    stop_lane -> draining: cancel_sequence
    cancel_source -> draining: cancel_sequence
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
}

TEST_CASE("in place the hold's quiescence is the lane's stop evidence") {
  table(in_place_offered(), R"(
    begin_hold -> aborts
    transfer_opened -> same
    prefill_computed -> aborts
    sequence_finished -> aborts
    sequence_quiesced -> same
    feed_received -> aborts
    feed_stopped -> aborts
    feed_rejected -> offered: source_failed
    stop_lane -> releasing: lane_stopped end_sequence quarantine_blocks reclaim_blocks
    cancel_source -> releasing: lane_stopped end_sequence quarantine_blocks reclaim_blocks
    retention_expired -> aborts
    blocks_reclaimed -> aborts
  )");
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

TEST_CASE("a feed that the hold never opened is a broken invariant") {
  const lane_id unknown{granted_id(), {0}, {1}};
  CHECK(cell<machine>(offered(), feed_received{unknown}) == "aborts");
  CHECK(cell<machine>(draining(), feed_stopped{unknown, {}}) == "aborts");
}
