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
  )");
}

TEST_CASE("an attempt without a place owes nothing") {
  table(placing(), R"(
    start_attempt -> aborts
    attempt_placed -> reserving: phase_entered reserve_request
    place_refused -> drained: attempt_failed phase_entered attempt_drained end_actor
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
    cancel_attempt -> drained: phase_entered attempt_drained end_actor
    group_lost, decode -> same
    group_lost, prefill -> same
    group_lost, another -> same
  )");
}

TEST_CASE("an attempt that waits for a grant withdraws before it ends") {
  table(reserving(), R"(
    start_attempt -> aborts
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> prefilling: phase_entered start_prefill
    reserve_refused -> drained: attempt_failed phase_entered attempt_drained end_actor
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
    cancel_attempt -> abandoned: phase_entered withdraw_attempt
    group_lost, decode -> drained: attempt_failed phase_entered withdraw_attempt
      + attempt_drained end_actor
    group_lost, prefill -> abandoned: attempt_failed phase_entered withdraw_attempt
    group_lost, another -> same
  )");
}

TEST_CASE("an attempt that prefills owes the destination and perhaps the source") {
  table(prefilling(), R"(
    start_attempt -> aborts
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> same
    reserve_refused -> aborts
    prefill_accepted -> same
    prefill_refused -> abandoned: attempt_failed phase_entered revoke_reservation
    prefill_finished -> handing_off: phase_entered
    transfer_completed -> committing: phase_entered claim_commit
    commit_claimed -> aborts
    commit_claimed, refused -> aborts
    committed -> aborts
    commit_refused -> aborts
    decode_finished -> aborts
    decode_finished, failed -> aborts
    reservation_revoked -> abandoned: attempt_failed phase_entered withdraw_attempt
      + revoke_reservation
    source_failed -> abandoned: attempt_failed phase_entered withdraw_attempt
      + revoke_reservation
    reservation_reclaimed -> same
    reservation_quarantined -> same
    source_released -> same
    cancel_attempt -> abandoned: phase_entered withdraw_attempt revoke_reservation
    group_lost, decode -> abandoned: attempt_failed phase_entered withdraw_attempt
      + revoke_reservation
    group_lost, prefill -> abandoned: attempt_failed phase_entered withdraw_attempt
      + revoke_reservation
    group_lost, another -> same
  )");
}

TEST_CASE("an attempt claims the commit when its transfer is complete") {
  table(handing_off(), R"(
    start_attempt -> aborts
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> same
    reserve_refused -> aborts
    prefill_accepted -> same
    prefill_refused -> aborts
    prefill_finished -> same
    transfer_completed -> committing: claim_commit
    commit_claimed -> aborts
    commit_claimed, refused -> aborts
    committed -> aborts
    commit_refused -> aborts
    decode_finished -> aborts
    decode_finished, failed -> aborts
    reservation_revoked -> abandoned: attempt_failed phase_entered revoke_reservation
      + cancel_source
    source_failed -> abandoned: attempt_failed phase_entered revoke_reservation cancel_source
    reservation_reclaimed -> same
    reservation_quarantined -> same
    source_released -> same
    cancel_attempt -> abandoned: phase_entered revoke_reservation cancel_source
    group_lost, decode -> abandoned: attempt_failed phase_entered revoke_reservation
      + cancel_source
    group_lost, prefill -> abandoned: attempt_failed phase_entered revoke_reservation
      + cancel_source
    group_lost, another -> same
  )");
}

TEST_CASE("an attempt without a claim does not commit") {
  table(committing(), R"(
    start_attempt -> aborts
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> same
    reserve_refused -> aborts
    prefill_accepted -> same
    prefill_refused -> aborts
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> committing: commit
    commit_claimed, refused -> abandoned: attempt_failed phase_entered revoke_reservation
      + cancel_source
    committed -> aborts
    commit_refused -> aborts
    decode_finished -> aborts
    decode_finished, failed -> aborts
    reservation_revoked -> abandoned: attempt_failed phase_entered revoke_reservation
      + cancel_source
    source_failed -> same
    reservation_reclaimed -> same
    reservation_quarantined -> same
    source_released -> same
    cancel_attempt -> abandoned: phase_entered revoke_reservation cancel_source
    group_lost, decode -> abandoned: attempt_failed phase_entered revoke_reservation
      + cancel_source
    group_lost, prefill -> same
    group_lost, another -> same
  )");
}

TEST_CASE("a claim is given back when the destination does not commit") {
  table(claimed(), R"(
    start_attempt -> aborts
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> same
    reserve_refused -> aborts
    prefill_accepted -> same
    prefill_refused -> aborts
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> aborts
    commit_claimed, refused -> aborts
    committed -> decoding: phase_entered
    commit_refused -> abandoned: commit_abandoned attempt_failed phase_entered
      + revoke_reservation cancel_source
    decode_finished -> aborts
    decode_finished, failed -> aborts
    reservation_revoked -> abandoned: commit_abandoned attempt_failed phase_entered
      + revoke_reservation cancel_source
    source_failed -> same
    reservation_reclaimed -> same
    reservation_quarantined -> same
    source_released -> same
    cancel_attempt -> abandoned: commit_abandoned phase_entered revoke_reservation
      + cancel_source
    group_lost, decode -> abandoned: commit_abandoned attempt_failed phase_entered
      + revoke_reservation cancel_source
    group_lost, prefill -> same
    group_lost, another -> same
  )");
}

TEST_CASE("a decoding attempt needs its source no longer") {
  table(decoding(), R"(
    start_attempt -> aborts
    attempt_placed -> aborts
    place_refused -> aborts
    reserve_granted -> same
    reserve_refused -> aborts
    prefill_accepted -> same
    prefill_refused -> aborts
    prefill_finished -> same
    transfer_completed -> same
    commit_claimed -> aborts
    commit_claimed, refused -> aborts
    committed -> same
    commit_refused -> same
    decode_finished -> done: phase_entered
    decode_finished, failed -> abandoned: attempt_failed phase_entered revoke_reservation
      + cancel_source
    reservation_revoked -> abandoned: attempt_failed phase_entered revoke_reservation
      + cancel_source
    source_failed -> same
    reservation_reclaimed -> same
    reservation_quarantined -> same
    source_released -> same
    cancel_attempt -> abandoned: phase_entered revoke_reservation cancel_source
    group_lost, decode -> abandoned: attempt_failed phase_entered revoke_reservation
      + cancel_source
    group_lost, prefill -> same
    group_lost, another -> same
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
