#include "protocol/request.hpp"

#include "protocol/assert.hpp"
#include "protocol/limits.hpp"

namespace baton::protocol::request {

namespace {

using effects_list = std::vector<effect>;

attempt_id current(const body& data) {
  return {data.opened.request, data.ordinal, data.opened.epoch};
}

start_attempt next_attempt(body& data, instant now) {
  ++data.ordinal;
  ++data.draining;
  const auto& spec = data.opened.spec;
  return {current(data), spec, left_of_ms(spec.deadline_ms, data.opened_at, now)};
}

step_result begin(const open_request& e, instant now) {
  body data;
  data.opened = e;
  data.opened_at = now;
  effects_list effects{next_attempt(data, now)};
  if (e.spec.deadline_ms > 0)
    effects.push_back(arm_timer{e.spec.deadline_ms});
  return {open{std::move(data)}, std::move(effects)};
}

request_ended outcome_of(const body& data, outcome_kind kind, finish_reason finish, failure why) {
  return {data.opened.spec.external, data.opened.request, kind,        finish, std::move(why),
          data.next_frame,           data.ordinal};
}

step_result leave_if_drained(ended s, effects_list effects) {
  if (s.data.draining > 0)
    return {std::move(s), std::move(effects)};
  effects.push_back(end_actor{});
  return {gone{}, std::move(effects)};
}

/// Ends the request before its stream did. `running`: the current attempt has to be told.
step_result end(body data, outcome_kind kind, const failure& why, bool running) {
  if (data.next_frame > 0 && kind == outcome_kind::failed)
    kind = outcome_kind::interrupted; // something may be visible: never a silent restart
  effects_list effects;
  if (running)
    effects.push_back(cancel_attempt{current(data), why});
  effects.push_back(outcome_of(data, kind, finish_reason::none, why));
  return leave_if_drained({std::move(data), kind}, std::move(effects));
}

failure past_deadline(const body& data) {
  return {reason::deadline_passed,
          "not finished within " + std::to_string(data.opened.spec.deadline_ms) + " ms"};
}

bool deadline_over(const body& data, instant now) {
  const std::int64_t deadline_ms = data.opened.spec.deadline_ms;
  return deadline_ms > 0 && after_ms(data.opened_at, deadline_ms) <= now;
}

step_result attempt_lost(body data, const attempt_failed& e, bool was_streaming, instant now) {
  if (e.attempt != current(data))
    return was_streaming ? step_result{streaming{std::move(data)}, {}}
                         : step_result{open{std::move(data)}, {}};
  if (data.committed == data.ordinal)
    data.committed = 0;
  const bool invisible = data.next_frame == 0;
  if (invisible && data.ordinal <= data.opened.spec.retries) {
    if (deadline_over(data, now)) { // the timer is on its way: it would only end a new attempt
      const failure why = past_deadline(data);
      return end(std::move(data), outcome_kind::failed, why, false);
    }
    effects_list effects{next_attempt(data, now)}; // the old one is fenced: it can claim nothing
    return {open{std::move(data)}, std::move(effects)};
  }
  const bool refused = data.ordinal == 1 && invisible && is_refusal(e.why.why);
  return end(std::move(data), refused ? outcome_kind::refused : outcome_kind::failed, e.why, false);
}

failure claim_objection(const body& data, const attempt_id& attempt) {
  if (attempt != current(data))
    return {reason::stale_attempt, "a later attempt is the current one"};
  if (data.committed != 0)
    return {reason::duplicate, "the request is committed already"};
  return {};
}

step_result claim(open s, const claim_commit& e) {
  const failure refusal = claim_objection(s.data, e.attempt);
  if (!refusal)
    s.data.committed = s.data.ordinal;
  return {std::move(s), {commit_claimed{e.attempt, refusal}}};
}

template <class State>
step_result refuse_claim(State s, const claim_commit& e, const char* why) {
  return {std::move(s), {commit_claimed{e.attempt, {reason::stale_attempt, why}}}};
}

failure missing_frame(const body& data, const token_emitted& e) {
  return {reason::peer_lost, "frame " + std::to_string(e.index) + " came where frame "
                               + std::to_string(data.next_frame) + " was due"};
}

/// I8: only frames of the committed attempt, each once, in order.
step_result forward(body data, const token_emitted& e, bool was_streaming) {
  const bool owner = data.committed != 0 && e.attempt == current(data);
  if (!owner || e.index < data.next_frame)
    return was_streaming ? step_result{streaming{std::move(data)}, {}}
                         : step_result{open{std::move(data)}, {}};
  if (e.index > data.next_frame) // a frame was lost: the client must not see the gap
    return end(std::move(data), outcome_kind::failed, missing_frame(data, e), true);
  ++data.next_frame;
  effects_list effects{
    frame_forwarded{data.opened.spec.external, e.attempt, e.index, e.token, e.logits, e.kv_digest}};
  if (e.finish == finish_reason::none)
    return {streaming{std::move(data)}, std::move(effects)};
  effects.push_back(outcome_of(data, outcome_kind::completed, e.finish, {}));
  return leave_if_drained({std::move(data), outcome_kind::completed}, std::move(effects));
}

step_result abandon_commit(open s, const commit_abandoned& e) {
  if (e.attempt == current(s.data))
    s.data.committed = 0;
  return {std::move(s), {}};
}

step_result out_of_time(body data) {
  const failure why = past_deadline(data);
  return end(std::move(data), outcome_kind::failed, why, true);
}

/// The attempt is done: its last frames are here, on their way, or lost.
template <class State>
step_result watch_frames(State s, const phase_entered& e) {
  if (e.phase != attempt_phase::done || e.attempt != current(s.data))
    return {std::move(s), {}};
  return {std::move(s), {arm_frames{limits::frames_wait_ms_max}}};
}

step_result miss_frames(body data) {
  const failure why{reason::peer_lost, "the last frames were lost: the attempt is done, frame "
                                         + std::to_string(data.next_frame) + " did not come"};
  return end(std::move(data), outcome_kind::failed, why, false);
}

step_result drained_one(ended s) {
  BATON_ASSERT(s.data.draining > 0);
  --s.data.draining;
  return leave_if_drained(std::move(s), {});
}

template <class State>
step_result old_attempt_drained(State s) {
  BATON_ASSERT(s.data.draining > 0);
  --s.data.draining;
  return {std::move(s), {}};
}

} // namespace

bool is_refusal(reason r) {
  switch (r) {
  case reason::not_permitted:
  case reason::no_capacity:
  case reason::no_slot:
  case reason::no_source_blocks:
  case reason::inflight_budget:
  case reason::quarantine_budget:
  case reason::deadline_infeasible:
  case reason::queue_full: return true;
  default: return false;
  }
}

step_result step(state before, const event& event, instant now) {
  const auto same = [&]() -> step_result { return {std::move(before), {}}; };
  const auto impossible = [&]() -> step_result {
    BATON_ASSERT(!"this event cannot happen in this state of a request");
    return same();
  };
  return std::visit(
    overloaded{
      [&](nascent&, const open_request& e) { return begin(e, now); },
      [&](open& s, const claim_commit& e) { return claim(std::move(s), e); },
      [&](open& s, const commit_abandoned& e) { return abandon_commit(std::move(s), e); },
      [&](open& s, const token_emitted& e) { return forward(std::move(s.data), e, false); },
      [&](open& s, const phase_entered& e) { return watch_frames(std::move(s), e); },
      [&](open& s, const frames_overdue&) { return miss_frames(std::move(s.data)); },
      [&](open& s, const attempt_failed& e) {
        return attempt_lost(std::move(s.data), e, false, now);
      },
      [&](open& s, const attempt_drained&) { return old_attempt_drained(std::move(s)); },
      [&](open& s, const cancel_request& e) {
        return end(std::move(s.data), outcome_kind::cancelled, e.why, true);
      },
      [&](open& s, const deadline_reached&) { return out_of_time(std::move(s.data)); },
      [&](streaming& s, const claim_commit& e) {
        return refuse_claim(std::move(s), e, "another attempt is streaming");
      },
      [&](streaming&, const commit_abandoned&) { return same(); },
      [&](streaming& s, const token_emitted& e) { return forward(std::move(s.data), e, true); },
      [&](streaming& s, const phase_entered& e) { return watch_frames(std::move(s), e); },
      [&](streaming& s, const frames_overdue&) { return miss_frames(std::move(s.data)); },
      [&](streaming& s, const attempt_failed& e) {
        return attempt_lost(std::move(s.data), e, true, now);
      },
      [&](streaming& s, const attempt_drained&) { return old_attempt_drained(std::move(s)); },
      [&](streaming& s, const cancel_request& e) {
        return end(std::move(s.data), outcome_kind::cancelled, e.why, true);
      },
      [&](streaming& s, const deadline_reached&) { return out_of_time(std::move(s.data)); },
      // I9: after the outcome only clean-up
      [&](ended& s, const claim_commit& e) {
        return refuse_claim(std::move(s), e, "the request has ended");
      },
      [&](ended& s, const attempt_drained&) { return drained_one(std::move(s)); },
      [&](ended&, const commit_abandoned&) { return same(); },
      [&](ended&, const token_emitted&) { return same(); },
      [&](ended&, const phase_entered&) { return same(); },
      [&](ended&, const frames_overdue&) { return same(); },
      [&](ended&, const attempt_failed&) { return same(); },
      [&](ended&, const cancel_request&) { return same(); },
      [&](ended&, const deadline_reached&) { return same(); },
      [&](gone&, const auto&) { return same(); },
      [&](nascent&, const auto&) { return impossible(); },
      [&](open&, const open_request&) { return impossible(); },
      [&](streaming&, const open_request&) { return impossible(); },
      [&](ended&, const open_request&) { return impossible(); },
    },
    before, event);
}

const char* name_of(const state& s) {
  return std::visit(overloaded{
                      [](const nascent&) { return "nascent"; },
                      [](const open&) { return "open"; },
                      [](const streaming&) { return "streaming"; },
                      [](const ended& e) { return to_string(e.kind); },
                      [](const gone&) { return "gone"; },
                    },
                    s);
}

} // namespace baton::protocol::request
