#include "tests/protocol/attempt_states.hpp"

#include <doctest/doctest.h>

using namespace baton::tests;
using namespace baton::tests::attempt_states;

TEST_CASE("an attempt begins by being placed") {
  table(nascent(), R"(
    start_attempt -> placing: phase_entered place_attempt
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> aborts
    reserve_refused -> aborts
    prefill_accepted -> aborts
    prefill_refused -> aborts
    prefill_finished -> aborts
    transfer_completed -> aborts
    commit_claimed -> aborts
    commit_claimed, refused -> aborts
    committed -> aborts
    commit_refused -> aborts
    decode_finished -> aborts
    decode_finished, failed -> aborts
    reservation_revoked -> aborts
    source_failed -> aborts
    reservation_reclaimed -> aborts
    reservation_quarantined -> aborts
    source_released -> aborts
    cancel_attempt -> aborts
    group_lost, decode -> aborts
    group_lost, prefill -> aborts
    group_lost, another -> aborts
    reserve_granted, another -> aborts
    prefill_accepted, another -> aborts
    transfer_completed, another -> aborts
    reservation_revoked, another -> aborts
    source_failed, another -> aborts
    source_released, another -> aborts
    reservation_reclaimed, another -> aborts
    answer_overdue -> aborts
  )");
}

TEST_CASE("an attempt without a place owes nothing") {
  table(placing(), R"(
    start_attempt -> aborts
    attempt_placed -> reserving: phase_entered reserve_request arm_answer
    place_refused -> drained: attempt_failed phase_entered attempt_drained end_actor
    reserve_granted -> same
    reserve_refused -> same
    prefill_accepted -> same
    prefill_refused -> same
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> aborts
    commit_claimed, refused -> aborts
    committed -> same
    commit_refused -> same
    decode_finished -> same
    decode_finished, failed -> same
    reservation_revoked -> same
    source_failed -> same
    reservation_reclaimed -> same
    reservation_quarantined -> same
    source_released -> same
    cancel_attempt -> drained: phase_entered attempt_drained end_actor
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
    answer_overdue -> aborts
  )");
}

TEST_CASE("an attempt that waits for a grant withdraws before it ends") {
  table(reserving(), R"(
    start_attempt -> aborts
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> prefilling: phase_entered start_prefill
    reserve_refused -> drained: attempt_failed phase_entered attempt_drained end_actor
    prefill_accepted -> reserving: cancel_source
    prefill_refused -> same
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> aborts
    commit_claimed, refused -> aborts
    committed -> same
    commit_refused -> same
    decode_finished -> same
    decode_finished, failed -> same
    reservation_revoked -> abandoned: attempt_failed phase_entered revoke_reservation
    source_failed -> same
    reservation_reclaimed -> same
    reservation_quarantined -> drained: attempt_failed phase_entered attempt_drained end_actor
    source_released -> same
    cancel_attempt -> abandoned: phase_entered withdraw_attempt
    group_lost, decode -> drained: attempt_failed phase_entered withdraw_attempt attempt_drained
      + end_actor
    group_lost, prefill -> abandoned: attempt_failed phase_entered withdraw_attempt
    group_lost, another -> same
    reserve_granted, another -> prefilling: phase_entered start_prefill
    prefill_accepted, another -> reserving: cancel_source
    transfer_completed, another -> same
    reservation_revoked, another -> abandoned: attempt_failed phase_entered revoke_reservation
    source_failed, another -> same
    source_released, another -> same
    reservation_reclaimed, another -> same
    answer_overdue -> reserving: reserve_request arm_answer
  )");
}

TEST_CASE("an attempt that prefills owes the destination and perhaps the source") {
  table(prefilling(), R"(
    start_attempt -> aborts
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> same
    reserve_refused -> same
    prefill_accepted -> same
    prefill_refused -> abandoned: attempt_failed phase_entered revoke_reservation
    prefill_finished -> handing_off: phase_entered
    transfer_completed -> committing: phase_entered claim_commit
    commit_claimed -> aborts
    commit_claimed, refused -> aborts
    committed -> same
    commit_refused -> same
    decode_finished -> same
    decode_finished, failed -> same
    reservation_revoked -> abandoned: attempt_failed phase_entered withdraw_attempt
      + revoke_reservation
    source_failed -> abandoned: attempt_failed phase_entered revoke_reservation cancel_source
    reservation_reclaimed -> abandoned: attempt_failed phase_entered withdraw_attempt
    reservation_quarantined -> abandoned: attempt_failed phase_entered withdraw_attempt
    source_released -> same
    cancel_attempt -> abandoned: phase_entered withdraw_attempt revoke_reservation
    group_lost, decode -> abandoned: attempt_failed phase_entered withdraw_attempt
      + revoke_reservation
    group_lost, prefill -> abandoned: attempt_failed phase_entered withdraw_attempt
      + revoke_reservation
    group_lost, another -> same
    reserve_granted, another -> prefilling: revoke_reservation
    prefill_accepted, another -> same
    transfer_completed, another -> same
    reservation_revoked, another -> same
    source_failed, another -> abandoned: attempt_failed phase_entered revoke_reservation
      + cancel_source
    source_released, another -> same
    reservation_reclaimed, another -> same
    answer_overdue -> prefilling: query_reservation start_prefill arm_answer
  )");
}

TEST_CASE("an attempt claims the commit when its transfer is complete") {
  table(handing_off(), R"(
    start_attempt -> aborts
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> same
    reserve_refused -> same
    prefill_accepted -> same
    prefill_refused -> same
    prefill_finished -> same
    transfer_completed -> committing: claim_commit
    commit_claimed -> aborts
    commit_claimed, refused -> aborts
    committed -> same
    commit_refused -> same
    decode_finished -> same
    decode_finished, failed -> same
    reservation_revoked -> abandoned: attempt_failed phase_entered revoke_reservation cancel_source
    source_failed -> abandoned: attempt_failed phase_entered revoke_reservation cancel_source
    reservation_reclaimed -> abandoned: attempt_failed phase_entered cancel_source
    reservation_quarantined -> abandoned: attempt_failed phase_entered cancel_source
    source_released -> same
    cancel_attempt -> abandoned: phase_entered revoke_reservation cancel_source
    group_lost, decode -> abandoned: attempt_failed phase_entered revoke_reservation cancel_source
    group_lost, prefill -> abandoned: attempt_failed phase_entered revoke_reservation cancel_source
    group_lost, another -> same
    reserve_granted, another -> handing_off: revoke_reservation
    prefill_accepted, another -> handing_off: cancel_source
    transfer_completed, another -> same
    reservation_revoked, another -> same
    source_failed, another -> same
    source_released, another -> same
    reservation_reclaimed, another -> same
    answer_overdue -> handing_off: query_reservation query_source arm_answer
  )");
}

TEST_CASE("an attempt without a claim does not commit") {
  table(committing(), R"(
    start_attempt -> aborts
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> same
    reserve_refused -> same
    prefill_accepted -> same
    prefill_refused -> same
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> committing: commit
    commit_claimed, refused -> abandoned: attempt_failed phase_entered revoke_reservation
      + cancel_source
    committed -> same
    commit_refused -> same
    decode_finished -> same
    decode_finished, failed -> same
    reservation_revoked -> abandoned: attempt_failed phase_entered revoke_reservation cancel_source
    source_failed -> same
    reservation_reclaimed -> abandoned: attempt_failed phase_entered cancel_source
    reservation_quarantined -> abandoned: attempt_failed phase_entered cancel_source
    source_released -> same
    cancel_attempt -> abandoned: phase_entered revoke_reservation cancel_source
    group_lost, decode -> abandoned: attempt_failed phase_entered revoke_reservation cancel_source
    group_lost, prefill -> same
    group_lost, another -> same
    reserve_granted, another -> committing: revoke_reservation
    prefill_accepted, another -> committing: cancel_source
    transfer_completed, another -> same
    reservation_revoked, another -> same
    source_failed, another -> same
    source_released, another -> same
    reservation_reclaimed, another -> same
    answer_overdue -> committing: query_reservation query_source arm_answer
  )");
}

TEST_CASE("a claim is given back when the destination does not commit") {
  table(claimed(), R"(
    start_attempt -> aborts
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> same
    reserve_refused -> same
    prefill_accepted -> same
    prefill_refused -> same
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> aborts
    commit_claimed, refused -> aborts
    committed -> decoding: phase_entered
    commit_refused -> abandoned: commit_abandoned attempt_failed phase_entered revoke_reservation
      + cancel_source
    decode_finished -> done: phase_entered phase_entered
    decode_finished, failed -> abandoned: phase_entered attempt_failed phase_entered
      + revoke_reservation cancel_source
    reservation_revoked -> abandoned: commit_abandoned attempt_failed phase_entered
      + revoke_reservation cancel_source
    source_failed -> same
    reservation_reclaimed -> abandoned: commit_abandoned attempt_failed phase_entered cancel_source
    reservation_quarantined -> abandoned: commit_abandoned attempt_failed phase_entered
      + cancel_source
    source_released -> same
    cancel_attempt -> abandoned: commit_abandoned phase_entered revoke_reservation cancel_source
    group_lost, decode -> abandoned: commit_abandoned attempt_failed phase_entered
      + revoke_reservation cancel_source
    group_lost, prefill -> same
    group_lost, another -> same
    reserve_granted, another -> committing: revoke_reservation
    prefill_accepted, another -> committing: cancel_source
    transfer_completed, another -> same
    reservation_revoked, another -> same
    source_failed, another -> same
    source_released, another -> same
    reservation_reclaimed, another -> same
    answer_overdue -> committing: query_reservation query_source commit arm_answer
  )");
}

TEST_CASE("a decoding attempt needs its source no longer") {
  table(decoding(), R"(
    start_attempt -> aborts
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> same
    reserve_refused -> same
    prefill_accepted -> same
    prefill_refused -> same
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> aborts
    commit_claimed, refused -> aborts
    committed -> same
    commit_refused -> same
    decode_finished -> done: phase_entered
    decode_finished, failed -> abandoned: attempt_failed phase_entered revoke_reservation
      + cancel_source
    reservation_revoked -> abandoned: attempt_failed phase_entered revoke_reservation cancel_source
    source_failed -> same
    reservation_reclaimed -> done: phase_entered
    reservation_quarantined -> done: phase_entered
    source_released -> same
    cancel_attempt -> abandoned: phase_entered revoke_reservation cancel_source
    group_lost, decode -> abandoned: attempt_failed phase_entered revoke_reservation cancel_source
    group_lost, prefill -> same
    group_lost, another -> same
    reserve_granted, another -> decoding: revoke_reservation
    prefill_accepted, another -> decoding: cancel_source
    transfer_completed, another -> same
    reservation_revoked, another -> same
    source_failed, another -> same
    source_released, another -> same
    reservation_reclaimed, another -> same
    answer_overdue -> decoding: query_reservation query_source arm_answer
  )");
}

TEST_CASE("the decode pool is asked with what is left of the deadline when it is asked") {
  const auto asked_at = [](std::int64_t deadline_ms, instant asked) {
    const auto begun
      = attempt::step({}, start_attempt{id, sample_spec(), deadline_ms}, at_ms(1'000));
    const auto placed
      = attempt::step(begun.state, attempt_placed{id, sample_source(), {"D3"}}, asked);
    return std::get<reserve_request>(placed.effects.at(1)).deadline_ms;
  };
  CHECK(asked_at(500, at_ms(1'120)) == 380);
  CHECK(asked_at(500, at_ms(1'500)) == 1); // 0 would say that there is none
  CHECK(asked_at(500, at_ms(9'000)) == 1);
  CHECK(asked_at(0, at_ms(1'120)) == 0);
}
