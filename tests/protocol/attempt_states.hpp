// Every state of an attempt, reached by legal events: placed on P7 and D3, granted as in
// hand_off_samples.hpp.
#pragma once

#include "protocol/attempt.hpp"
#include "tests/protocol/hand_off_samples.hpp"
#include "tests/protocol/machine_table.hpp"

#include <string>
#include <vector>

namespace baton::tests::attempt_states {

using namespace baton::protocol;

struct machine {
  using state = attempt::state;
  using event = attempt::event;
  static attempt::step_result step(state before, const event& event) {
    return attempt::step(std::move(before), event, {});
  }
  static const char* name_of(const state& s) { return attempt::name_of(s); }
};

using state = attempt::state;

inline const attempt_id id = sample_attempt();
inline const failure some_reason{reason::cancelled, "the client left"};

inline state after(state s, const std::vector<attempt::event>& events) {
  for (const auto& e : events)
    s = machine::step(std::move(s), e).state;
  return s;
}

inline reserve_granted granted() { return {sample_granted().granted}; }
inline reservation_reclaimed reclaimed() { return {id, granted().granted.reservation}; }

/// Of a question that was repeated on the way.
inline reserve_granted another_grant() {
  auto other = granted();
  ++other.granted.reservation.number;
  return other;
}
inline const reservation_id hold{{7, 1}, 1};
inline const reservation_id another_hold{{7, 1}, 2};

inline state nascent() { return {}; }
inline state placing() { return after(nascent(), {start_attempt{id, sample_spec()}}); }
inline state reserving() { return after(placing(), {attempt_placed{id, sample_source(), {"D3"}}}); }
inline state prefilling() { return after(reserving(), {granted()}); }
inline state handing_off() {
  return after(prefilling(), {prefill_accepted{id, hold}, prefill_finished{id, hold}});
}
inline state committing() {
  return after(handing_off(), {transfer_completed{id, granted().granted.reservation}});
}
inline state claimed() { return after(committing(), {commit_claimed{id, {}}}); }
inline state decoding() { return after(claimed(), {committed{id}}); }
inline state done() {
  return after(decoding(), {decode_finished{id, finish_reason::length, {}, 3}});
}
inline state done_destination() { return after(done(), {source_released{id, hold}}); }
inline state abandoned_reserving() { return after(reserving(), {cancel_attempt{id, some_reason}}); }
inline state abandoned_prefilling() {
  return after(prefilling(), {cancel_attempt{id, some_reason}});
}
inline state abandoned() { return after(handing_off(), {cancel_attempt{id, some_reason}}); }
inline state abandoned_source() { return after(abandoned(), {reclaimed()}); }
inline state drained() { return after(abandoned_source(), {source_released{id, hold}}); }

inline std::vector<labelled<attempt::event>> every_event() {
  return {
    {"start_attempt", start_attempt{id, sample_spec()}},
    {"attempt_placed", attempt_placed{id, sample_source(), {"D3"}}},
    {"place_refused", place_refused{id, some_reason}},
    {"reserve_granted", granted()},
    {"reserve_refused", reserve_refused{id, some_reason}},
    {"prefill_accepted", prefill_accepted{id, hold}},
    {"prefill_refused", prefill_refused{id, some_reason}},
    {"prefill_finished", prefill_finished{id, hold}},
    {"transfer_completed", transfer_completed{id, granted().granted.reservation}},
    {"commit_claimed", commit_claimed{id, {}}},
    {"commit_claimed, refused", commit_claimed{id, some_reason}},
    {"committed", committed{id}},
    {"commit_refused", commit_refused{id, some_reason}},
    {"decode_finished", decode_finished{id, finish_reason::length, {}, 3}},
    {"decode_finished, failed", decode_finished{id, finish_reason::none, some_reason, 1}},
    {"reservation_revoked", reservation_revoked{id, granted().granted.reservation, some_reason}},
    {"source_failed", source_failed{id, hold, some_reason}},
    {"reservation_reclaimed", reclaimed()},
    {"reservation_quarantined",
     reservation_quarantined{id, granted().granted.reservation, some_reason}},
    {"source_released", source_released{id, hold}},
    {"cancel_attempt", cancel_attempt{id, some_reason}},
    {"group_lost, decode", group_lost{{"D3"}, some_reason}},
    {"group_lost, prefill", group_lost{{"P7"}, some_reason}},
    {"group_lost, another", group_lost{{"P8"}, some_reason}},
    {"reserve_granted, another", another_grant()},
    {"prefill_accepted, another", prefill_accepted{id, another_hold}},
    {"transfer_completed, another", transfer_completed{id, another_grant().granted.reservation}},
    {"reservation_revoked, another",
     reservation_revoked{id, another_grant().granted.reservation, some_reason}},
    {"source_failed, another", source_failed{id, another_hold, some_reason}},
    {"source_released, another", source_released{id, another_hold}},
    {"reservation_reclaimed, another",
     reservation_reclaimed{id, another_grant().granted.reservation}},
    {"answer_overdue", answer_overdue{}},
  };
}

inline void table(const state& s, const std::string& expected) {
  check_table<machine>(s, every_event(), expected);
}

} // namespace baton::tests::attempt_states
