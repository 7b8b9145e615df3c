#include "protocol/reservation.hpp"

#include "protocol/assert.hpp"
#include "protocol/reservation_steps.hpp"

namespace baton::protocol::reservation {

namespace {

const failure lease_over{reason::lease_expired, "the lease ended before the hand-off was complete"};

/// A timer may fire early by the clock's grain; the lease itself decides.
template <class State>
step_result expire(State s, instant now) {
  if (now < s.data.lease_end)
    return {std::move(s), {arm_lease{1}}};
  return revoke(std::move(s.data), lease_over, true);
}

template <class State>
step_result stopped_early(State s, const lane_id& lane) {
  mark_stopped(s.data, lane);
  return {std::move(s), {}};
}

template <class State>
step_result lost_lane(State s, const lane_lost& e) {
  mark_lost(s.data, e.lane);
  return revoke(std::move(s.data), e.why, true);
}

step_result failed_lane(body data, const lane_failed& e) {
  BATON_ASSERT(data.lanes.count(e.lane) == 1);
  return revoke(std::move(data), e.why, true);
}

template <class State>
step_result refuse(State s, const commit& e) {
  const failure why{reason::stale_attempt, "the reservation is not complete and not yet committed"};
  return {std::move(s), {commit_refused{e.attempt, why}}};
}

step_result finish(live s, const sequence_finished& e) {
  effects_list effects{decode_finished{attempt_of(s.data), e.finish, e.why, e.tokens}};
  const std::int64_t hold_ms = s.data.begun.opened.asked.spec.hold_ms;
  if (hold_ms > 0 && !e.why) {
    effects.push_back(arm_hold{hold_ms});
    return {std::move(s), std::move(effects)};
  }
  return retire(std::move(s.data), std::move(effects));
}

step_result cancel_live(live s) {
  effects_list effects;
  if (s.data.reading == readers::active)
    effects.push_back(cancel_sequence{grant_of(s.data).sequence});
  return retire(std::move(s.data), std::move(effects));
}

step_result quiesce(body data, bool retiring_now) {
  data.reading = readers::quiesced;
  return reclaim_or_wait(std::move(data), {}, retiring_now);
}

step_result lane_ended(body data, const lane_id& lane, bool retiring_now) {
  mark_stopped(data, lane);
  return reclaim_or_wait(std::move(data), {}, retiring_now);
}

step_result lane_gone(body data, const lane_id& lane, bool retiring_now) {
  mark_lost(data, lane);
  return reclaim_or_wait(std::move(data), {}, retiring_now);
}

/// Out of the quarantine only when all evidence is in, whatever came first; the attempt is told of
/// it once, on the way in.
step_result leave_quarantine(quarantined s) {
  auto next = reclaim_or_wait(s.data, {}, true);
  if (std::holds_alternative<reclaiming>(next.state))
    return next;
  return {std::move(s), {}};
}

/// Words that another node may repeat, in a state that has heard them.
template <class State, class Message>
constexpr bool said_twice
  = std::is_same_v<Message, manifest_offered>
    || (std::is_same_v<Message, lane_opened> && !std::is_same_v<State, reserved>)
    || (std::is_same_v<Message, lane_landed>
        && (std::is_same_v<State, complete> || std::is_same_v<State, live>));

step_result end(const body& data) {
  const reservation_id id = grant_of(data).reservation;
  return {reclaimed{id}, {reservation_reclaimed{attempt_of(data), id}, end_actor{}}};
}

template <class State>
step_result unchanged(State s) {
  return {std::move(s), {}};
}

/// What a state's own table below does not name. After the decision to end, what the living still
/// say changes nothing (I9).
template <class State, class Message>
step_result otherwise(State s, const Message& e) {
  constexpr bool ending = std::is_same_v<State, retiring> || std::is_same_v<State, draining>
                          || std::is_same_v<State, quarantined>
                          || std::is_same_v<State, reclaiming>;
  constexpr bool over = std::is_same_v<State, reclaimed>;
  // The pool gives nothing back unasked, and nothing begins twice.
  constexpr bool never = std::is_same_v<Message, begin_reservation>
                         || (std::is_same_v<Message, blocks_reclaimed> && !over);
  if constexpr (ending && std::is_same_v<Message, commit>)
    return refuse(std::move(s), e);
  constexpr bool begun = !std::is_same_v<State, nascent>;
  constexpr bool can_happen_here
    = begun && !never && (over || ending || said_twice<State, Message>);
  BATON_ASSERT(can_happen_here);
  return unchanged(std::move(s));
}

// The transition table: one function for each state.

step_result hear(nascent& s, const event& event, instant now) {
  return std::visit(
    overloaded{
      [&](const begin_reservation& e) { return begin(e, now); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(reserved& s, const event& event, instant now) {
  return std::visit(
    overloaded{
      [&](const manifest_offered& e) { return check_offer(std::move(s), e, now); },
      [&](const lane_opened& e) { return lane_is_open(std::move(s), e); },
      [&](const lane_failed& e) { return failed_lane(std::move(s.data), e); },
      [&](const lane_lost& e) { return lost_lane(std::move(s), e); },
      [&](const revoke_reservation& e) { return revoke(std::move(s.data), e.why, false); },
      [&](const lease_expired&) { return expire(std::move(s), now); },
      [&](const commit& e) { return refuse(std::move(s), e); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(receiving& s, const event& event, instant now) {
  return std::visit(
    overloaded{
      [&](const lane_landed& e) { return lane_has_landed(std::move(s), e); },
      [&](const lane_failed& e) { return failed_lane(std::move(s.data), e); },
      [&](const lane_stopped& e) { return stopped_early(std::move(s), e.lane); },
      [&](const lane_lost& e) { return lost_lane(std::move(s), e); },
      [&](const revoke_reservation& e) { return revoke(std::move(s.data), e.why, false); },
      [&](const lease_expired&) { return expire(std::move(s), now); },
      [&](const commit& e) { return refuse(std::move(s), e); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(complete& s, const event& event, instant now) {
  return std::visit(
    overloaded{
      [&](const commit& e) { return try_commit(std::move(s), e, now); },
      [&](const lane_stopped& e) { return stopped_early(std::move(s), e.lane); },
      [&](const lane_lost& e) { return lost_lane(std::move(s), e); },
      [&](const revoke_reservation& e) { return revoke(std::move(s.data), e.why, false); },
      [&](const lease_expired&) { return expire(std::move(s), now); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

/// Ownership has replaced the lease.
step_result hear(live& s, const event& event, instant) {
  return std::visit(
    overloaded{
      [&](const sequence_finished& e) { return finish(std::move(s), e); },
      [&](const sequence_quiesced&) -> step_result {
        s.data.reading = readers::quiesced; // while a script holds the memory
        return {std::move(s), {}};
      },
      [&](const hold_ended&) { return retire(std::move(s.data), {}); },
      [&](const revoke_reservation&) { return cancel_live(std::move(s)); },
      [&](const lane_stopped& e) { return stopped_early(std::move(s), e.lane); },
      [&](const lane_lost& e) -> step_result {
        mark_lost(s.data, e.lane);
        return {std::move(s), {}};
      },
      [&](const lease_expired&) { return unchanged(std::move(s)); },
      [&](const commit& e) { return refuse(std::move(s), e); }, // I6
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

/// From here on only evidence matters.
step_result hear(retiring& s, const event& event, instant) {
  return std::visit(
    overloaded{
      [&](const sequence_quiesced&) { return quiesce(std::move(s.data), true); },
      [&](const lane_stopped& e) { return lane_ended(std::move(s.data), e.lane, true); },
      [&](const lane_lost& e) { return lane_gone(std::move(s.data), e.lane, true); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(draining& s, const event& event, instant) {
  return std::visit(
    overloaded{
      [&](const lane_stopped& e) { return lane_ended(std::move(s.data), e.lane, false); },
      [&](const lane_lost& e) { return lane_gone(std::move(s.data), e.lane, false); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

/// Evidence is still accepted, silence never is.
step_result hear(quarantined& s, const event& event, instant) {
  return std::visit(
    overloaded{
      [&](const sequence_quiesced&) {
        s.data.reading = readers::quiesced;
        return leave_quarantine(std::move(s));
      },
      [&](const lane_stopped& e) {
        mark_stopped(s.data, e.lane);
        return leave_quarantine(std::move(s));
      },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(reclaiming& s, const event& event, instant) {
  return std::visit(
    overloaded{
      [&](const blocks_reclaimed&) { return end(s.data); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(reclaimed& s, const event& event, instant) {
  return std::visit([&](const auto& e) { return otherwise(std::move(s), e); }, event);
}

} // namespace

step_result step(state before, const event& event, instant now) {
  return std::visit([&](auto& s) { return hear(s, event, now); }, before);
}

const char* name_of(const state& s) {
  static const char* const names[]
    = {"nascent",  "reserved", "receiving",   "complete",   "live",
       "retiring", "draining", "quarantined", "reclaiming", "reclaimed"};
  return names[s.index()];
}

} // namespace baton::protocol::reservation
