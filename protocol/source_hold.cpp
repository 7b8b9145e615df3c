#include "protocol/source_hold.hpp"

#include "protocol/assert.hpp"
#include "protocol/transfer_manifest.hpp"

#include <algorithm>

namespace baton::protocol::source_hold {

namespace {

using effects_list = std::vector<effect>;

const grant& granted(const body& data) { return data.begun.opened.asked.granted; }
const attempt_id& attempt(const body& data) { return data.begun.opened.asked.attempt; }

std::vector<block_id> blocks_to_compute(const body& data) {
  const auto& refs = granted(data).in_place ? granted(data).blocks : data.begun.opened.blocks;
  std::vector<block_id> ids;
  for (std::size_t i = 0; i < refs.size() && i < granted(data).prompt_blocks; ++i)
    ids.push_back(refs[i].block);
  return ids;
}

void submit(body& data, effects_list& effects) {
  const auto& opened = data.begun.opened;
  data.compute = kernels::running;
  effects.push_back(submit_prefill{opened.sequence, opened.asked.attempt, opened.asked.prompt,
                                   blocks_to_compute(data), granted(data).in_place});
}

step_result begin(const begin_hold& e) {
  body data;
  data.begun = e;
  const auto& asked = e.opened.asked;
  manifest offer = source_manifest(e.model, e.tp_degree, asked);
  if (!asked.spec.fault.manifest_field.empty())
    falsify(offer, asked.spec.fault.manifest_field);
  effects_list effects{
    prefill_accepted{asked.attempt},
    manifest_offered{std::move(offer)},
  };
  if (!asked.granted.in_place) // in place, a byte would move before the manifest is accepted
    submit(data, effects);
  return {computing{std::move(data)}, std::move(effects)};
}

open_feed feed_of(const body& data, const lane_plan& plan) {
  const auto& asked = data.begun.opened.asked;
  open_feed feed;
  feed.lane = {granted(data).reservation, plan.source, plan.destination};
  feed.attempt = asked.attempt;
  feed.sequence = data.begun.opened.sequence;
  feed.heads = plan.heads;
  feed.destination_node
    = {granted(data).group.value + "." + std::to_string(plan.destination.value)};
  feed.source_blocks = data.begun.opened.blocks;
  const auto& table = granted(data).blocks;
  feed.destination_blocks.assign(table.begin(), table.begin() + granted(data).prompt_blocks);
  feed.prompt_tokens = asked.spec.prompt_tokens;
  feed.block_tokens = data.begun.block_tokens;
  feed.fault = asked.spec.fault;
  return feed;
}

void open_feeds(body& data, const transfer_opened& e, effects_list& effects) {
  if (!data.feeds.empty())
    return; // said twice
  for (const auto& plan : e.lanes) {
    open_feed feed = feed_of(data, plan);
    const bool added = data.feeds.emplace(feed.lane, feed_status::open).second;
    BATON_ASSERT(added); // lanes are keyed by both ranks
    effects.push_back(std::move(feed));
  }
}

/// No kernel writes or reads the blocks.
bool kernels_quiet(const body& data) {
  return data.compute == kernels::idle || data.compute == kernels::quiesced;
}

bool readers_gone(const body& data) {
  return std::all_of(data.feeds.begin(), data.feeds.end(),
                     [](const auto& f) { return f.second != feed_status::open; });
}

bool all_received(const body& data) {
  return !data.feeds.empty()
         && std::all_of(data.feeds.begin(), data.feeds.end(),
                        [](const auto& f) { return f.second == feed_status::received; });
}

/// I14: only here are the blocks given back.
step_result release(body data, effects_list effects) {
  BATON_ASSERT(readers_gone(data) && kernels_quiet(data));
  if (granted(data).in_place)
    effects.push_back(lane_stopped{in_place_lane(granted(data).reservation)});
  if (data.compute == kernels::quiesced)
    effects.push_back(end_sequence{data.begun.opened.sequence});
  effects.push_back(quarantine_blocks{data.begun.opened.hold});
  effects.push_back(reclaim_blocks{data.begun.opened.hold});
  return {releasing{std::move(data)}, std::move(effects)};
}

step_result drain_if_ready(body data, effects_list effects) {
  if (readers_gone(data) && kernels_quiet(data))
    return release(std::move(data), std::move(effects));
  return {draining{std::move(data)}, std::move(effects)};
}

step_result drain(body data, effects_list effects) {
  if (data.compute == kernels::running) {
    data.compute = kernels::ending;
    effects.push_back(cancel_sequence{data.begun.opened.sequence});
  }
  for (const auto& [lane, status] : data.feeds)
    if (status == feed_status::open)
      effects.push_back(withdraw_feed{lane});
  return drain_if_ready(std::move(data), std::move(effects));
}

/// After prefill_computed: received once every feed has its receipt.
step_result settle(body data, effects_list effects) {
  if (!all_received(data) || !kernels_quiet(data))
    return {offered{std::move(data)}, std::move(effects)};
  if (data.begun.retention_ms > 0) {
    effects.push_back(arm_timer{data.begun.retention_ms});
    return {retained{std::move(data)}, std::move(effects)};
  }
  return release(std::move(data), std::move(effects));
}

step_result computed(body data) {
  BATON_ASSERT(data.compute == kernels::running);
  effects_list effects{prefill_finished{attempt(data)}};
  if (granted(data).in_place)
    effects.push_back(lane_landed{in_place_lane(granted(data).reservation), 0});
  return settle(std::move(data), std::move(effects));
}

void mark(body& data, const lane_id& lane, feed_status status) {
  const auto it = data.feeds.find(lane);
  BATON_ASSERT(it != data.feeds.end());
  if (it->second == feed_status::open)
    it->second = status;
}

effects_list report_failure(body& data, const failure& why) {
  if (data.failed)
    return {};
  data.failed = true;
  return {source_failed{attempt(data), why}};
}

/// A destination that stops one lane stops them all. Only its reservation knows whether it has all
/// it needs (the receipt may be lost) and it tells the attempt itself.
step_result reader_ended(body data, const feed_stopped& e) {
  mark(data, e.lane, feed_status::stopped);
  return drain(std::move(data), {});
}

/// A rejected offer: the attempt decides what follows.
template <class State>
step_result rejected(State s, const feed_rejected& e) {
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
  if (!granted(s.data).in_place)
    open_feeds(s.data, e, effects);
  else if (s.data.compute == kernels::idle)
    submit(s.data, effects);
  return {std::move(s), std::move(effects)};
}

step_result finish(const body& data) {
  return {released{}, {source_released{attempt(data)}, end_actor{}}};
}

template <class State>
step_result unchanged(State s) {
  return {std::move(s), {}};
}

/// What a state's own table below does not name: nothing reaches the living that they do not
/// expect, and nothing begins twice.
template <class State, class Message>
step_result otherwise(State s, const Message&) {
  constexpr bool can_happen_here
    = std::is_same_v<State, released> && !std::is_same_v<Message, begin_hold>;
  BATON_ASSERT(can_happen_here);
  return unchanged(std::move(s));
}

// The transition table: one function for each state.

step_result hear(nascent& s, const event& event, instant) {
  return std::visit(
    overloaded{
      [&](const begin_hold& e) { return begin(e); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(computing& s, const event& event, instant) {
  return std::visit(
    overloaded{
      [&](const transfer_opened& e) { return opened(std::move(s), e); },
      [&](const prefill_computed&) { return computed(std::move(s.data)); },
      [&](const sequence_finished& e) { return compute_failed(std::move(s.data), e); },
      [&](const feed_stopped& e) { return reader_ended(std::move(s.data), e); },
      [&](const feed_rejected& e) { return rejected(std::move(s), e); },
      [&](const stop_lane&) { return drain(std::move(s.data), {}); },
      [&](const cancel_source&) { return drain(std::move(s.data), {}); },
      [&](const feed_received& e) { // it may overtake the slowest rank's last completion
        mark(s.data, e.lane, feed_status::received);
        return unchanged(std::move(s));
      },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(offered& s, const event& event, instant) {
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
      [&](const feed_stopped& e) { return reader_ended(std::move(s.data), e); },
      [&](const feed_rejected& e) { return rejected(std::move(s), e); },
      [&](const stop_lane&) { return drain(std::move(s.data), {}); },
      [&](const cancel_source&) { return drain(std::move(s.data), {}); },
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
      [&](const transfer_opened&) { return unchanged(std::move(s)); },
      [&](const feed_received&) { return unchanged(std::move(s)); },
      [&](const feed_stopped&) { return unchanged(std::move(s)); },
      [&](const feed_rejected&) { return unchanged(std::move(s)); },
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
      [&](const transfer_opened&) { return unchanged(std::move(s)); }, // nothing will be offered
      [&](const prefill_computed&) { return unchanged(std::move(s)); },
      [&](const sequence_finished&) { return unchanged(std::move(s)); },
      [&](const feed_rejected&) { return unchanged(std::move(s)); },
      [&](const stop_lane&) { return unchanged(std::move(s)); },
      [&](const cancel_source&) { return unchanged(std::move(s)); },
      [&](const auto& e) { return otherwise(std::move(s), e); },
    },
    event);
}

step_result hear(releasing& s, const event& event, instant) {
  return std::visit(
    overloaded{
      [&](const blocks_reclaimed&) { return finish(s.data); },
      [&](const transfer_opened&) { return unchanged(std::move(s)); },
      [&](const cancel_source&) { return unchanged(std::move(s)); },
      [&](const stop_lane&) { return unchanged(std::move(s)); },
      [&](const sequence_finished&) { return unchanged(std::move(s)); },
      [&](const feed_received&) { return unchanged(std::move(s)); },
      [&](const feed_stopped&) { return unchanged(std::move(s)); },
      [&](const feed_rejected&) { return unchanged(std::move(s)); },
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
