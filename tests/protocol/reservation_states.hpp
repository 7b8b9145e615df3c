// Every state of a reservation, reached by legal events from its grant: the first of a pool of D3,
// two lanes (0,0) and (1,1).
#pragma once

#include "protocol/manifest.hpp"
#include "protocol/reservation.hpp"
#include "tests/protocol/hand_off_samples.hpp"
#include "tests/protocol/machine_table.hpp"

#include <string>
#include <vector>

namespace baton::tests::reservation_states {

using namespace baton::protocol;

inline const reservation_id granted_id{{3, 1}, 1};
inline const lane_id first_lane{granted_id, {0}, {0}};
inline const lane_id last_lane{granted_id, {1}, {1}};
inline const failure some_reason{reason::cancelled, "the client left"};

struct machine {
  using state = reservation::state;
  using event = reservation::event;
  /// The lease ends exactly when its timer says so; everything else happens long before.
  static reservation::step_result step(state before, const event& event) {
    const bool expired = std::holds_alternative<lease_expired>(event);
    return reservation::step(std::move(before), event, at_ms(expired ? sample_lease_ms : 1));
  }
  static const char* name_of(const state& s) { return reservation::name_of(s); }
};

using state = reservation::state;

inline state after(state s, const std::vector<reservation::event>& events) {
  for (const auto& e : events)
    s = machine::step(std::move(s), e).state;
  return s;
}

inline manifest_offered first_offer() { return {sample_offer(), granted_id, {{7, 1}, 1}}; }
inline manifest_offered another_offer() { return {sample_offer(), granted_id, {{7, 1}, 2}}; }

inline state nascent() { return {}; }
inline state reserved() { return reservation::step({}, sample_begin(), at_ms(0)).state; }
inline state opening() { return after(reserved(), {first_offer()}); }
inline state receiving() {
  return after(opening(), {lane_opened{first_lane}, lane_opened{last_lane}});
}
inline state one_landed() { return after(receiving(), {lane_landed{first_lane, 5}}); }
inline state complete() { return after(one_landed(), {lane_landed{last_lane, 5}}); }
inline state live() { return after(complete(), {sample_commit(sample_granted().granted)}); }
inline state live_lanes_stopped() {
  return after(live(), {lane_stopped{first_lane}, lane_stopped{last_lane}});
}
inline const sequence_finished finished{{1}, finish_reason::length, {}, 3};
inline state retiring() { return after(live(), {finished}); }
inline state retiring_lanes_stopped() { return after(live_lanes_stopped(), {finished}); }
inline state draining() {
  return after(receiving(), {revoke_reservation{sample_attempt(), granted_id, some_reason}});
}
inline state draining_last() { return after(draining(), {lane_stopped{first_lane}}); }
inline state quarantined() { return after(draining_last(), {lane_lost{last_lane, some_reason}}); }
inline state quarantined_readers() {
  return after(retiring(), {lane_lost{last_lane, some_reason}});
}
inline state reclaiming() { return after(draining_last(), {lane_stopped{last_lane}}); }
inline state reclaimed() { return after(reclaiming(), {blocks_reclaimed{granted_id}}); }

inline std::vector<labelled<reservation::event>> every_event() {
  manifest other = sample_offer();
  falsify(other, "model.dtype");
  commit stale = sample_commit(sample_granted().granted);
  ++stale.generation_sum;
  return {
    {"begin_reservation", sample_begin()},
    {"manifest_offered", first_offer()},
    {"manifest_offered, another dtype", manifest_offered{other, granted_id, first_offer().hold}},
    {"lane_opened", lane_opened{last_lane}},
    {"lane_landed", lane_landed{last_lane, 5}},
    {"lane_landed, another digest", lane_landed{last_lane, 6}},
    {"lane_failed", lane_failed{last_lane, some_reason}},
    {"lane_stopped", lane_stopped{last_lane}},
    {"lane_lost", lane_lost{last_lane, some_reason}},
    {"commit", sample_commit(sample_granted().granted)},
    {"commit, another generation", stale},
    {"revoke_reservation", revoke_reservation{sample_attempt(), granted_id, some_reason}},
    {"query_reservation", query_reservation{sample_attempt(), granted_id}},
    {"manifest_offered, another hold", another_offer()},
    {"lease_expired", lease_expired{}},
    {"evidence_due", evidence_due{}},
    {"sequence_finished", finished},
    {"sequence_quiesced", sequence_quiesced{{1}}},
    {"hold_ended", hold_ended{}},
    {"blocks_reclaimed", blocks_reclaimed{granted_id}},
  };
}

inline void table(const state& s, const std::string& expected) {
  check_table<machine>(s, every_event(), expected);
}

} // namespace baton::tests::reservation_states
