#include "tests/protocol/attempt_states.hpp"

#include <doctest/doctest.h>

using namespace baton::tests;
using namespace baton::tests::attempt_states;

TEST_CASE("a finished attempt waits for both sides") {
  table(done(), R"(
    start_attempt -> aborts
    attempt_placed -> same
    place_refused -> same
    reserve_granted -> same
    reserve_refused -> same
    prefill_accepted -> same
    prefill_refused -> same
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> same
    commit_claimed, refused -> same
    committed -> same
    commit_refused -> same
    decode_finished -> same
    decode_finished, failed -> same
    reservation_revoked -> same
    source_failed -> same
    reservation_reclaimed -> same
    reservation_quarantined -> same
    source_released -> same
    cancel_attempt -> same
    group_lost, decode -> same
    group_lost, prefill -> same
    group_lost, another -> same
    reserve_granted, another -> done: revoke_reservation
    prefill_accepted, another -> done: cancel_source
    transfer_completed, another -> same
    reservation_revoked, another -> same
    source_failed, another -> done: cancel_source
    source_released, another -> same
    reservation_reclaimed, another -> same
    answer_overdue -> done: query_reservation query_source arm_answer
  )");
}

TEST_CASE("a finished attempt drains with its last debt") {
  table(done_destination(), R"(
    start_attempt -> aborts
    attempt_placed -> same
    place_refused -> same
    reserve_granted -> same
    reserve_refused -> same
    prefill_accepted -> same
    prefill_refused -> same
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> same
    commit_claimed, refused -> same
    committed -> same
    commit_refused -> same
    decode_finished -> same
    decode_finished, failed -> same
    reservation_revoked -> same
    source_failed -> same
    reservation_reclaimed -> drained: attempt_drained end_actor
    reservation_quarantined -> drained: attempt_drained end_actor
    source_released -> same
    cancel_attempt -> same
    group_lost, decode -> drained: attempt_drained end_actor
    group_lost, prefill -> same
    group_lost, another -> same
    reserve_granted, another -> done: revoke_reservation
    prefill_accepted, another -> done: cancel_source
    transfer_completed, another -> same
    reservation_revoked, another -> same
    source_failed, another -> done: cancel_source
    source_released, another -> same
    reservation_reclaimed, another -> same
    answer_overdue -> done: query_reservation arm_answer
  )");
}

TEST_CASE("a grant that crossed the withdrawal is revoked") {
  table(abandoned_reserving(), R"(
    start_attempt -> aborts
    attempt_placed -> same
    place_refused -> same
    reserve_granted -> abandoned: revoke_reservation
    reserve_refused -> drained: attempt_drained end_actor
    prefill_accepted -> abandoned: cancel_source
    prefill_refused -> same
    prefill_finished -> abandoned: cancel_source
    transfer_completed -> same
    commit_claimed -> same
    commit_claimed, refused -> same
    committed -> same
    commit_refused -> same
    decode_finished -> same
    decode_finished, failed -> same
    reservation_revoked -> same
    source_failed -> abandoned: cancel_source
    reservation_reclaimed -> drained: attempt_drained end_actor
    reservation_quarantined -> drained: attempt_drained end_actor
    source_released -> same
    cancel_attempt -> same
    group_lost, decode -> drained: attempt_drained end_actor
    group_lost, prefill -> same
    group_lost, another -> same
    reserve_granted, another -> abandoned: revoke_reservation
    prefill_accepted, another -> abandoned: cancel_source
    transfer_completed, another -> same
    reservation_revoked, another -> same
    source_failed, another -> abandoned: cancel_source
    source_released, another -> same
    reservation_reclaimed, another -> drained: attempt_drained end_actor
    answer_overdue -> abandoned: withdraw_attempt arm_answer
  )");
}

TEST_CASE("an acceptance that crossed the cancel is cancelled") {
  table(abandoned_prefilling(), R"(
    start_attempt -> aborts
    attempt_placed -> same
    place_refused -> same
    reserve_granted -> same
    reserve_refused -> same
    prefill_accepted -> abandoned: cancel_source
    prefill_refused -> same
    prefill_finished -> abandoned: cancel_source
    transfer_completed -> same
    commit_claimed -> same
    commit_claimed, refused -> same
    committed -> same
    commit_refused -> same
    decode_finished -> same
    decode_finished, failed -> same
    reservation_revoked -> same
    source_failed -> abandoned: cancel_source
    reservation_reclaimed -> same
    reservation_quarantined -> same
    source_released -> same
    cancel_attempt -> same
    group_lost, decode -> same
    group_lost, prefill -> same
    group_lost, another -> same
    reserve_granted, another -> abandoned: revoke_reservation
    prefill_accepted, another -> abandoned: cancel_source
    transfer_completed, another -> same
    reservation_revoked, another -> same
    source_failed, another -> abandoned: cancel_source
    source_released, another -> same
    reservation_reclaimed, another -> same
    answer_overdue -> abandoned: withdraw_attempt revoke_reservation arm_answer
  )");
}

TEST_CASE("an abandoned attempt waits for both sides") {
  table(abandoned(), R"(
    start_attempt -> aborts
    attempt_placed -> same
    place_refused -> same
    reserve_granted -> same
    reserve_refused -> same
    prefill_accepted -> same
    prefill_refused -> same
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> same
    commit_claimed, refused -> same
    committed -> same
    commit_refused -> same
    decode_finished -> same
    decode_finished, failed -> same
    reservation_revoked -> same
    source_failed -> same
    reservation_reclaimed -> same
    reservation_quarantined -> same
    source_released -> same
    cancel_attempt -> same
    group_lost, decode -> same
    group_lost, prefill -> same
    group_lost, another -> same
    reserve_granted, another -> abandoned: revoke_reservation
    prefill_accepted, another -> abandoned: cancel_source
    transfer_completed, another -> same
    reservation_revoked, another -> same
    source_failed, another -> abandoned: cancel_source
    source_released, another -> same
    reservation_reclaimed, another -> same
    answer_overdue -> abandoned: revoke_reservation cancel_source arm_answer
  )");
}

TEST_CASE("an abandoned attempt drains with its last debt") {
  table(abandoned_source(), R"(
    start_attempt -> aborts
    attempt_placed -> same
    place_refused -> same
    reserve_granted -> same
    reserve_refused -> same
    prefill_accepted -> same
    prefill_refused -> same
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> same
    commit_claimed, refused -> same
    committed -> same
    commit_refused -> same
    decode_finished -> same
    decode_finished, failed -> same
    reservation_revoked -> same
    source_failed -> same
    reservation_reclaimed -> same
    reservation_quarantined -> same
    source_released -> drained: attempt_drained end_actor
    cancel_attempt -> same
    group_lost, decode -> same
    group_lost, prefill -> drained: attempt_drained end_actor
    group_lost, another -> same
    reserve_granted, another -> abandoned: revoke_reservation
    prefill_accepted, another -> abandoned: cancel_source
    transfer_completed, another -> same
    reservation_revoked, another -> same
    source_failed, another -> abandoned: cancel_source
    source_released, another -> same
    reservation_reclaimed, another -> same
    answer_overdue -> abandoned: cancel_source arm_answer
  )");
}

TEST_CASE("a drained attempt is told everything in vain") {
  table(drained(), R"(
    start_attempt -> aborts
    attempt_placed -> same
    place_refused -> same
    reserve_granted -> same
    reserve_refused -> same
    prefill_accepted -> same
    prefill_refused -> same
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> same
    commit_claimed, refused -> same
    committed -> same
    commit_refused -> same
    decode_finished -> same
    decode_finished, failed -> same
    reservation_revoked -> same
    source_failed -> same
    reservation_reclaimed -> same
    reservation_quarantined -> same
    source_released -> same
    cancel_attempt -> same
    group_lost, decode -> same
    group_lost, prefill -> same
    group_lost, another -> same
    reserve_granted, another -> same
    prefill_accepted, another -> same
    transfer_completed, another -> same
    reservation_revoked, another -> same
    source_failed, another -> same
    source_released, another -> same
    reservation_reclaimed, another -> same
    answer_overdue -> same
  )");
}

TEST_CASE("a source that reports late does not end an attempt whose transfer is complete") {
  const state s = after(claimed(), {source_failed{id, hold, some_reason}, committed{id}});
  CHECK(machine::name_of(s) == std::string("decoding"));
}

TEST_CASE("an acceptance from a lost group is cancelled, but owes nothing") {
  const state lost = after(prefilling(), {group_lost{{"P7"}, some_reason}});
  const auto late = machine::step(lost, prefill_accepted{id, hold});
  CHECK(types_of(late.effects) == "cancel_source");
  CHECK(machine::name_of(after(late.state, {reclaimed()})) == std::string("drained"));
}

TEST_CASE("both sides of a lost group are told: its leader may still listen") {
  const auto result = machine::step(handing_off(), group_lost{{"D3"}, some_reason});
  CHECK(types_of(result.effects)
        == "attempt_failed phase_entered revoke_reservation cancel_source");
  const state over = after(result.state, {source_released{id, hold}});
  CHECK(machine::name_of(over) == std::string("drained"));
}

TEST_CASE("the commit names the attempt, the reservation and the generations of its grant") {
  const auto result = machine::step(committing(), commit_claimed{id, {}});
  CHECK(std::get<commit>(result.effects.at(0)) == sample_commit(sample_granted().granted));
}
