// Every state of a source hold, reached by legal events: for D3's first grant, two feeds (0,0) and
// (1,1); and in place.
#pragma once

#include "protocol/source_hold.hpp"
#include "tests/protocol/hand_off_samples.hpp"
#include "tests/protocol/machine_table.hpp"

#include <string>
#include <vector>

namespace baton::tests::hold_states {

using namespace baton::protocol;

struct machine {
  using state = source_hold::state;
  using event = source_hold::event;
  static source_hold::step_result step(state before, const event& event) {
    return source_hold::step(std::move(before), event, {});
  }
  static const char* name_of(const state& s) { return source_hold::name_of(s); }
};

using state = source_hold::state;

inline const hand_off_shape mixed{2, 2, true, 0};
inline const failure some_reason{reason::cancelled, "the client left"};

inline reservation_id granted_id() { return sample_granted().granted.reservation; }
inline lane_id first_lane() { return {granted_id(), {0}, {0}}; }
inline lane_id last_lane() { return {granted_id(), {1}, {1}}; }

inline transfer_opened opened() {
  return {granted_id(), plan_lanes(4, 2, 2).value(), sample_hold().hold};
}

inline transfer_opened opened_in_place() {
  return {granted_id(), {{{0}, {0}, {0, 4}}}, sample_hold(mixed).hold};
}

inline state after(state s, const std::vector<source_hold::event>& events) {
  for (const auto& e : events)
    s = machine::step(std::move(s), e).state;
  return s;
}

inline const prefill_computed computed{{1}};
inline const sequence_quiesced quiet{{1}};
inline const cancel_source cancelled{sample_attempt(), sample_hold().hold, some_reason};

inline state nascent() { return {}; }
inline state computing() { return after(nascent(), {sample_begin_hold()}); }
inline state computing_fed() { return after(computing(), {opened()}); }
inline state computing_received() {
  return after(computing_fed(), {feed_received{first_lane()}, feed_received{last_lane()}});
}
inline state offered() { return after(computing_fed(), {computed, quiet}); }
inline state offered_last() { return after(offered(), {feed_received{first_lane()}}); }
inline state retained() {
  return after(nascent(), {sample_begin_hold({}, 50), opened(), computed, quiet,
                           feed_received{first_lane()}, feed_received{last_lane()}});
}
inline state draining() { return after(computing_fed(), {cancelled}); }
inline state draining_kernels() {
  return after(draining(), {feed_stopped{first_lane(), {}}, feed_stopped{last_lane(), {}}});
}
inline state draining_reader() {
  return after(draining(), {feed_stopped{first_lane(), {}}, quiet});
}
inline state releasing() { return after(offered_last(), {feed_received{last_lane()}}); }
inline state released() { return after(releasing(), {blocks_reclaimed{sample_hold().hold}}); }

inline state in_place() { return after(nascent(), {sample_begin_hold(mixed)}); }
inline state in_place_computing() { return after(in_place(), {opened_in_place()}); }
inline state in_place_offered() { return after(in_place_computing(), {computed, quiet}); }

inline std::vector<labelled<source_hold::event>> every_event(const hand_off_shape& shape) {
  const reservation_id hold = sample_hold(shape).hold;
  return {
    {"begin_hold", sample_begin_hold()},
    {"transfer_opened", shape.in_place ? opened_in_place() : opened()},
    {"transfer_refused", transfer_refused{granted_id(), hold, some_reason}},
    {"transfer_refused, another hold",
     transfer_refused{granted_id(), {{7, 1}, 9}, some_reason}},
    {"prefill_computed", computed},
    {"sequence_finished", sequence_finished{{1}, finish_reason::none, some_reason, 0}},
    {"sequence_quiesced", quiet},
    {"feed_opened", feed_opened{last_lane()}},
    {"feed_received", feed_received{last_lane()}},
    {"feed_stopped", feed_stopped{last_lane(), some_reason}},
    {"feed_rejected", feed_rejected{last_lane(), some_reason}},
    {"stop_lane", stop_lane{source_hold::in_place_lane(granted_id()), {}}},
    {"cancel_source", cancelled},
    {"query_source", query_source{sample_attempt(), hold}},
    {"evidence_due", evidence_due{}},
    {"retention_expired", retention_expired{}},
    {"blocks_reclaimed", blocks_reclaimed{sample_hold().hold}},
  };
}

inline void table(const state& s, const std::string& expected, const hand_off_shape& shape = {}) {
  check_table<machine>(s, every_event(shape), expected);
}

} // namespace baton::tests::hold_states
