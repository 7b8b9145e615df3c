#include "protocol/source_hold_steps.hpp"

#include "protocol/assert.hpp"
#include "protocol/limits.hpp"
#include "protocol/transfer_manifest.hpp"

#include <algorithm>

namespace baton::protocol::source_hold {

namespace {

std::vector<block_id> blocks_to_compute(const body& data) {
  const auto& refs = granted(data).in_place ? granted(data).blocks : data.begun.opened.blocks;
  std::vector<block_id> ids;
  for (std::size_t i = 0; i < refs.size() && i < granted(data).prompt_blocks; ++i)
    ids.push_back(refs[i].block);
  return ids;
}

bool has_ended(feed_status status) {
  return status == feed_status::received || status == feed_status::stopped;
}

/// No kernel writes or reads the blocks.
bool kernels_quiet(const body& data) {
  return data.compute == kernels::idle || data.compute == kernels::quiesced
         || data.compute == kernels::ended;
}

bool readers_gone(const body& data) {
  return std::all_of(data.feeds.begin(), data.feeds.end(),
                     [](const auto& f) { return has_ended(f.second.status); });
}

bool all_received(const body& data) {
  return !data.feeds.empty()
         && std::all_of(data.feeds.begin(), data.feeds.end(),
                        [](const auto& f) { return f.second.status == feed_status::received; });
}

} // namespace

const grant& granted(const body& data) { return data.begun.opened.asked.granted; }
const attempt_id& attempt(const body& data) { return data.begun.opened.asked.attempt; }
const reservation_id& hold_of(const body& data) { return data.begun.opened.hold; }

manifest_offered offer_of(const body& data) {
  const auto& asked = data.begun.opened.asked;
  manifest offer = source_manifest(data.begun.model, data.begun.tp_degree, asked);
  if (!asked.spec.fault.manifest_field.empty())
    falsify(offer, asked.spec.fault.manifest_field);
  return {std::move(offer), asked.granted.reservation, hold_of(data)};
}

void submit(body& data, effects_list& effects) {
  const auto& opened = data.begun.opened;
  data.compute = kernels::running;
  effects.push_back(submit_prefill{opened.sequence, opened.asked.attempt, opened.asked.prompt,
                                   blocks_to_compute(data), !has_feeds(data)});
}

step_result begin(const begin_hold& e, instant now) {
  body data;
  data.begun = e;
  data.lease_end = after_ms(now, granted(data).lease_ms);
  effects_list effects{
    prefill_accepted{attempt(data), hold_of(data)},
    offer_of(data),
    arm_evidence{limits::evidence_wait_ms_max},
  };
  if (!granted(data).in_place) // in place, a byte would move before the manifest is accepted
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
  const auto& table = granted(data).blocks;
  feed.destination_blocks.assign(table.begin(), table.begin() + granted(data).prompt_blocks);
  feed.mapped = granted(data).mapped;
  feed.source_blocks = feed.mapped ? feed.destination_blocks : data.begun.opened.blocks;
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
    data.feeds.emplace(feed.lane, feed_entry{plan, feed_status::opening});
    effects.push_back(std::move(feed));
  }
}

bool has_feeds(const body& data) { return !granted(data).in_place || granted(data).mapped; }

bool is_opened(const body& data) {
  return granted(data).in_place ? data.compute != kernels::idle : !data.feeds.empty();
}

block_ref fence_of(const body& data) {
  return granted(data).mapped ? granted(data).blocks.front() : data.begun.opened.blocks.front();
}

step_result release(body data, effects_list effects) {
  BATON_ASSERT(readers_gone(data) && kernels_quiet(data));
  if (!has_feeds(data))
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
  if (granted(data).mapped && data.compute == kernels::quiesced) {
    data.compute = kernels::ended;
    effects.push_back(end_sequence{data.begun.opened.sequence});
  }
  return {draining{std::move(data)}, std::move(effects)};
}

void withdraw_feeds(const body& data, effects_list& effects) {
  for (const auto& [lane, feed] : data.feeds)
    if (!has_ended(feed.status))
      effects.push_back(withdraw_feed{lane, fence_of(data)});
}

step_result drain(body data, effects_list effects) {
  if (data.compute == kernels::running) {
    data.compute = kernels::ending;
    effects.push_back(cancel_sequence{data.begun.opened.sequence});
  }
  withdraw_feeds(data, effects);
  return drain_if_ready(std::move(data), std::move(effects));
}

step_result settle(body data, effects_list effects) {
  if (!all_received(data) || !kernels_quiet(data))
    return {offered{std::move(data)}, std::move(effects)};
  if (data.begun.retention_ms > 0 && !granted(data).mapped) { // mapped: nothing of its own to keep
    effects.push_back(arm_timer{data.begun.retention_ms});
    return {retained{std::move(data)}, std::move(effects)};
  }
  return release(std::move(data), std::move(effects));
}

step_result computed(body data) {
  BATON_ASSERT(data.compute == kernels::running);
  effects_list effects{prefill_finished{attempt(data), hold_of(data)}};
  if (!has_feeds(data))
    effects.push_back(lane_landed{in_place_lane(granted(data).reservation), 0});
  return settle(std::move(data), std::move(effects));
}

bool is_awaited(const body& data, const lane_id& lane) {
  const auto it = data.feeds.find(lane);
  return it != data.feeds.end() && !has_ended(it->second.status);
}

void mark(body& data, const lane_id& lane, feed_status status) {
  if (is_awaited(data, lane))
    data.feeds.at(lane).status = status;
}

effects_list report_failure(body& data, const failure& why) {
  if (data.failed)
    return {};
  data.failed = why;
  return {source_failed{attempt(data), hold_of(data), why}};
}

} // namespace baton::protocol::source_hold
