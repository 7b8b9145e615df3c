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

/// In a mixed group the hold may end before its offer is here: then the lane has stopped before it
/// opened, and no offer is taken any more.
step_result stopped_early(reserved s, const lane_id& lane) {
  if (s.data.lanes.empty() && grant_of(s.data).in_place && !grant_of(s.data).mapped)
    s.data.lanes.emplace(lane, lane_entry{});
  mark_stopped(s.data, lane);
  return {std::move(s), {}};
}

template <class State>
step_result lost_lane(State s, const lane_lost& e) {
  mark_lost(s.data, e.lane);
  return revoke(std::move(s.data), e.why, true);
}

template <class State>
step_result failed_lane(State s, const lane_failed& e) {
  if (s.data.lanes.count(e.lane) == 0)
    return {std::move(s), {}};
  return revoke(std::move(s.data), e.why, true);
}

template <class State>
step_result refuse(State s, const commit& e) {
  const failure why{reason::stale_attempt, "the reservation is not complete and not yet committed"};
  return {std::move(s), {commit_refused{e.attempt, why}}};
}

/// The grant again, with what is left of its lease.
template <class State>
step_result grant_again(State s, instant now) {
  if (now >= s.data.lease_end)
    return revoke(std::move(s.data), lease_over, true);
  reserve_granted answer{grant_of(s.data)};
  answer.granted.lease_ms = ms_between(now, s.data.lease_end);
  return {std::move(s), {std::move(answer)}};
}

/// I6: the same commit is answered again, and activates nothing a second time.
step_result commit_again(live s, const commit& e) {
  if (!is_commit_of(s.data, e))
    return refuse(std::move(s), e);
  return {std::move(s), {committed{e.attempt}}};
}

/// The same hold is told again that it may send, any other one that it may not.
template <class State>
step_result offered_again(State s, const manifest_offered& e) {
  if (e.hold == s.data.hold)
    return {s, {opened_transfer(s.data)}};
  auto refusal = refused_transfer(s.data, e.hold);
  return {std::move(s), {std::move(refusal)}};
}

template <class State>
step_result ask_again(State s) {
  constexpr bool transfers = std::is_same_v<State, reserved> || std::is_same_v<State, receiving>;
  constexpr bool kept = std::is_same_v<State, complete> || std::is_same_v<State, live>;
  effects_list effects;
  ask_lanes(s.data,
            transfers ? lane_need::landing
            : kept    ? lane_need::stop
                      : lane_need::end,
            effects);
  return {std::move(s), std::move(effects)};
}

step_result finish(live s, const sequence_finished& e) {
  s.data.finished = decode_finished{attempt_of(s.data), e.finish, e.why, e.tokens};
  effects_list effects{*s.data.finished};
  const std::int64_t hold_ms = s.data.begun.opened.asked.spec.hold_ms;
  if (hold_ms > 0 && !e.why) {
    effects.push_back(arm_hold{hold_ms});
    return {std::move(s), std::move(effects)};
  }
  return retire(std::move(s.data), std::move(effects));
}

step_result cancel_live(live s, const failure& why) {
  effects_list effects;
  s.data.ended = why;
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

/// What an attempt that asks was told last. A finished one has committed, so that it answers a
/// commit too.
template <class State>
effect last_word(const State& s) {
  const body& data = s.data;
  const reservation_id& id = grant_of(data).reservation;
  if constexpr (std::is_same_v<State, complete>)
    return transfer_completed{attempt_of(data), id};
  if constexpr (std::is_same_v<State, quarantined>)
    return reservation_quarantined{attempt_of(data), id, without_proof()};
  if (data.finished)
    return *data.finished;
  if constexpr (std::is_same_v<State, live>)
    return committed{attempt_of(data)};
  return reservation_revoked{attempt_of(data), id, data.ended};
}

template <class State>
step_result answer(State s) {
  effect word = last_word(s);
  return {std::move(s), {std::move(word)}};
}

step_result end(const body& data) {
  const reservation_id id = grant_of(data).reservation;
  return {reclaimed{id}, {reservation_reclaimed{attempt_of(data), id}, end_actor{}}};
}

template <class State>
step_result unchanged(State s) {
  return {std::move(s), {}};
}

template <class State>
constexpr bool is_ending = std::is_same_v<State, retiring> || std::is_same_v<State, draining>
                           || std::is_same_v<State, quarantined>
                           || std::is_same_v<State, reclaiming>;

/// May be lost, repeated and late, so that it may come in any state of an actor that has begun.
template <class Message>
constexpr bool crosses_nodes
  = std::is_same_v<Message, manifest_offered> || std::is_same_v<Message, lane_opened>
    || std::is_same_v<Message, lane_landed> || std::is_same_v<Message, lane_failed>
    || std::is_same_v<Message, lane_stopped> || std::is_same_v<Message, commit>
    || std::is_same_v<Message, revoke_reservation> || std::is_same_v<Message, query_reservation>;

/// What a state's own table below does not name. After the decision to end, what the living still
/// say changes nothing (I9).
template <class State, class Message>
step_result otherwise(State s, const Message& e) {
  constexpr bool over = std::is_same_v<State, reclaimed>;
  // The pool gives nothing back unasked, and nothing begins twice.
  constexpr bool never = std::is_same_v<Message, begin_reservation>
                         || (std::is_same_v<Message, blocks_reclaimed> && !over);
  if constexpr (is_ending<State> && std::is_same_v<Message, commit>) {
    if (s.data.finished && is_commit_of(s.data, e))
      return answer(std::move(s)); // its word was lost, and so was that of the end
    return refuse(std::move(s), e);
  }
  if constexpr (is_ending<State> && std::is_same_v<Message, query_reservation>)
    return answer(std::move(s));
  if constexpr (is_ending<State> && std::is_same_v<Message, manifest_offered>) {
    auto refusal = refused_transfer(s.data, e.hold);
    return {std::move(s), {std::move(refusal)}};
  }
  if constexpr (is_ending<State> && std::is_same_v<Message, evidence_due>)
    return ask_again(std::move(s));
  constexpr bool begun = !std::is_same_v<State, nascent>;
  constexpr bool can_happen_here
    = begun && !never && (over || is_ending<State> || crosses_nodes<Message>);
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
      [&](const lane_landed& e) { return lane_has_landed(std::move(s), e); },
      [&](const lane_stopped& e) { return stopped_early(std::move(s), e.lane); },
      [&](const lane_failed& e) { return failed_lane(std::move(s), e); },
      [&](const lane_lost& e) { return lost_lane(std::move(s), e); },
      [&](const revoke_reservation& e) { return revoke(std::move(s.data), e.why, false); },
      [&](const lease_expired&) { return expire(std::move(s), now); },
      [&](const commit& e) { return refuse(std::move(s), e); },
      [&](const query_reservation&) { return grant_again(std::move(s), now); },
      [&](const evidence_due&) { return ask_again(std::move(s)); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(receiving& s, const event& event, instant now) {
  return std::visit(
    overloaded{
      [&](const lane_landed& e) { return lane_has_landed(std::move(s), e); },
      [&](const lane_failed& e) { return failed_lane(std::move(s), e); },
      [&](const lane_stopped& e) { return stopped_early(std::move(s), e.lane); },
      [&](const lane_lost& e) { return lost_lane(std::move(s), e); },
      [&](const revoke_reservation& e) { return revoke(std::move(s.data), e.why, false); },
      [&](const lease_expired&) { return expire(std::move(s), now); },
      [&](const commit& e) { return refuse(std::move(s), e); },
      [&](const manifest_offered& e) { return offered_again(std::move(s), e); },
      [&](const evidence_due&) { return ask_again(std::move(s)); },
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
      [&](const manifest_offered& e) { return offered_again(std::move(s), e); },
      [&](const query_reservation&) { return answer(std::move(s)); },
      [&](const evidence_due&) { return ask_again(std::move(s)); },
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
      [&](const revoke_reservation& e) { return cancel_live(std::move(s), e.why); },
      [&](const lane_stopped& e) { return stopped_early(std::move(s), e.lane); },
      [&](const lane_lost& e) -> step_result {
        mark_lost(s.data, e.lane);
        return {std::move(s), {}};
      },
      [&](const lease_expired&) { return unchanged(std::move(s)); },
      [&](const commit& e) { return commit_again(std::move(s), e); },
      [&](const manifest_offered& e) { return offered_again(std::move(s), e); },
      [&](const query_reservation&) { return answer(std::move(s)); },
      [&](const evidence_due&) { return ask_again(std::move(s)); },
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
