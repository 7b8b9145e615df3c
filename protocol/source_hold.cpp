#include "protocol/source_hold_steps.hpp"

#include "protocol/assert.hpp"
#include "protocol/limits.hpp"

namespace baton::protocol::source_hold {

namespace {

/// A destination that stops one lane stops them all. Only its reservation knows whether it has all
/// it needs (the receipt may be lost) and it tells the attempt itself.
template <class State>
step_result reader_ended(State s, const feed_stopped& e) {
  if (!is_awaited(s.data, e.lane))
    return {std::move(s), {}};
  mark(s.data, e.lane, feed_status::stopped);
  return drain(std::move(s.data), {});
}

/// A rejected offer: the attempt decides what follows.
template <class State>
step_result rejected(State s, const feed_rejected& e) {
  mark(s.data, e.lane, feed_status::open);
  auto effects = report_failure(s.data, e.why);
  return {std::move(s), std::move(effects)};
}
step_result compute_failed(body data, const sequence_finished& e) {
  BATON_ASSERT(data.compute == kernels::running);
  data.compute = kernels::ending;
  auto effects = report_failure(data, e.why);
  return drain(std::move(data), std::move(effects));
}

template <class State>
step_result opened(State s, const transfer_opened& e) {
  effects_list effects;
  if (e.reservation != granted(s.data).reservation || e.hold != hold_of(s.data))
    return {std::move(s), {}};
  if (has_feeds(s.data))
    open_feeds(s.data, e, effects);
  if (granted(s.data).in_place && s.data.compute == kernels::idle)
    submit(s.data, effects);
  return {std::move(s), std::move(effects)};
}

/// Nobody was let in, or the destination has ended: its own attempt hears that from it.
step_result turned_away(body data, const failure& why) {
  effects_list effects;
  if (!is_opened(data))
    effects = report_failure(data, why);
  return drain(std::move(data), std::move(effects));
}

template <class State>
step_result refused(State s, const transfer_refused& e) {
  if (e.reservation != granted(s.data).reservation || e.hold != hold_of(s.data))
    return {std::move(s), {}};
  if constexpr (std::is_same_v<State, retained>)
    return release(std::move(s.data), {});
  else
    return turned_away(std::move(s.data), e.why);
}

/// What has not been answered is asked again.
template <class State>
step_result ask_again(State s, instant now) {
  effects_list effects;
  if (!is_opened(s.data) && now >= s.data.lease_end)
    return turned_away(std::move(s.data),
                       {reason::lease_expired, "nobody answered the offer while a lease can last"});
  if (!is_opened(s.data))
    effects.push_back(offer_of(s.data));
  for (const auto& [lane, feed] : s.data.feeds) {
    if (feed.status == feed_status::opening)
      effects.push_back(feed_of(s.data, feed.plan));
    if (feed.status == feed_status::open)
      effects.push_back(ask_feed{lane, fence_of(s.data)});
  }
  effects.push_back(arm_evidence{limits::evidence_wait_ms_max});
  return {std::move(s), std::move(effects)};
}

/// For an attempt that asks: what it was told last.
template <class State>
step_result answer(State s) {
  const attempt_id& of = attempt(s.data);
  const reservation_id& hold = hold_of(s.data);
  if (s.data.failed)
    return {s, {source_failed{of, hold, s.data.failed}}};
  if constexpr (std::is_same_v<State, computing>)
    return {s, {prefill_accepted{of, hold}}};
  if constexpr (std::is_same_v<State, offered> || std::is_same_v<State, retained>)
    return {s, {prefill_finished{of, hold}}};
  return {std::move(s), {}}; // the end is on its way, and its word with it
}

step_result finish(const body& data) {
  return {released{}, {source_released{attempt(data), hold_of(data)}, end_actor{}}};
}

template <class State>
step_result unchanged(State s) {
  return {std::move(s), {}};
}

/// May be lost, repeated and late, so that it may come in any state of an actor that has begun.
template <class Message>
constexpr bool crosses_nodes
  = std::is_same_v<Message, transfer_opened> || std::is_same_v<Message, transfer_refused>
    || std::is_same_v<Message, feed_opened> || std::is_same_v<Message, feed_received>
    || std::is_same_v<Message, feed_stopped> || std::is_same_v<Message, feed_rejected>
    || std::is_same_v<Message, cancel_source> || std::is_same_v<Message, query_source>;

/// What a state's own table below does not name: nothing of this node reaches the living that they
/// do not expect, and nothing begins twice. A timer may fire late.
template <class State, class Message>
step_result otherwise(State s, const Message&) {
  constexpr bool begun = !std::is_same_v<State, nascent>;
  constexpr bool can_happen_here
    = begun && !std::is_same_v<Message, begin_hold>
      && (std::is_same_v<State, released> || crosses_nodes<Message>
          || std::is_same_v<Message, evidence_due>);
  BATON_ASSERT(can_happen_here);
  return unchanged(std::move(s));
}

// The transition table: one function for each state.

step_result hear(nascent& s, const event& event, instant now) {
  return std::visit(
    overloaded{
      [&](const begin_hold& e) { return begin(e, now); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(computing& s, const event& event, instant now) {
  return std::visit(
    overloaded{
      [&](const transfer_opened& e) { return opened(std::move(s), e); },
      [&](const prefill_computed&) { return computed(std::move(s.data)); },
      [&](const sequence_finished& e) { return compute_failed(std::move(s.data), e); },
      [&](const feed_stopped& e) { return reader_ended(std::move(s), e); },
      [&](const feed_rejected& e) { return rejected(std::move(s), e); },
      [&](const stop_lane&) { return drain(std::move(s.data), {}); },
      [&](const cancel_source&) { return drain(std::move(s.data), {}); },
      [&](const feed_received& e) { // it may overtake the slowest rank's last completion
        mark(s.data, e.lane, feed_status::received);
        return unchanged(std::move(s));
      },
      [&](const feed_opened& e) {
        mark(s.data, e.lane, feed_status::open);
        return unchanged(std::move(s));
      },
      [&](const transfer_refused& e) { return refused(std::move(s), e); },
      [&](const query_source&) { return answer(std::move(s)); },
      [&](const evidence_due&) { return ask_again(std::move(s), now); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(offered& s, const event& event, instant now) {
  return std::visit(
    overloaded{
      [&](const transfer_opened& e) { return opened(std::move(s), e); },
      [&](const sequence_quiesced&) {
        s.data.compute = kernels::quiesced;
        return settle(std::move(s.data), {});
      },
      [&](const feed_received& e) {
        mark(s.data, e.lane, feed_status::received);
        return settle(std::move(s.data), {});
      },
      [&](const feed_stopped& e) { return reader_ended(std::move(s), e); },
      [&](const feed_rejected& e) { return rejected(std::move(s), e); },
      [&](const stop_lane&) { return drain(std::move(s.data), {}); },
      [&](const cancel_source&) { return drain(std::move(s.data), {}); },
      [&](const feed_opened& e) {
        mark(s.data, e.lane, feed_status::open);
        return unchanged(std::move(s));
      },
      [&](const transfer_refused& e) { return refused(std::move(s), e); },
      [&](const query_source&) { return answer(std::move(s)); },
      [&](const evidence_due&) { return ask_again(std::move(s), now); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

/// Every feed has ended: what they say twice adds nothing.
step_result hear(retained& s, const event& event, instant) {
  return std::visit(
    overloaded{
      [&](const retention_expired&) { return release(std::move(s.data), {}); },
      [&](const cancel_source&) { return release(std::move(s.data), {}); },
      [&](const transfer_refused& e) { return refused(std::move(s), e); },
      [&](const query_source&) { return answer(std::move(s)); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(draining& s, const event& event, instant) {
  return std::visit(
    overloaded{
      [&](const sequence_quiesced&) {
        s.data.compute = kernels::quiesced;
        return drain_if_ready(std::move(s.data), {});
      },
      [&](const feed_received& e) {
        mark(s.data, e.lane, feed_status::received);
        return drain_if_ready(std::move(s.data), {});
      },
      [&](const feed_stopped& e) {
        mark(s.data, e.lane, feed_status::stopped);
        return drain_if_ready(std::move(s.data), {});
      },
      [&](const evidence_due&) -> step_result {
        effects_list effects;
        withdraw_feeds(s.data, effects);
        effects.push_back(arm_evidence{limits::evidence_wait_ms_max});
        return {std::move(s), std::move(effects)};
      },
      [&](const query_source&) { return answer(std::move(s)); },
      [&](const prefill_computed&) { return unchanged(std::move(s)); },
      [&](const sequence_finished&) { return unchanged(std::move(s)); },
      [&](const stop_lane&) { return unchanged(std::move(s)); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(releasing& s, const event& event, instant) {
  return std::visit(
    overloaded{
      [&](const blocks_reclaimed&) { return finish(s.data); },
      [&](const stop_lane&) { return unchanged(std::move(s)); },
      [&](const sequence_finished&) { return unchanged(std::move(s)); },
      [&](const retention_expired&) { return unchanged(std::move(s)); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(released& s, const event& event, instant) {
  return std::visit([&](const auto& e) { return otherwise(std::move(s), e); }, event);
}

} // namespace

step_result step(state before, const event& event, instant now) {
  return std::visit([&](auto& s) { return hear(s, event, now); }, before);
}

const char* name_of(const state& s) {
  return std::visit(overloaded{
                      [](const nascent&) { return "nascent"; },
                      [](const computing&) { return "computing"; },
                      [](const offered&) { return "offered"; },
                      [](const retained&) { return "retained"; },
                      [](const draining&) { return "draining"; },
                      [](const releasing&) { return "releasing"; },
                      [](const released&) { return "released"; },
                    },
                    s);
}

lane_id in_place_lane(const reservation_id& reservation) { return {reservation, {0}, {0}}; }

} // namespace baton::protocol::source_hold
