#include "protocol/feed.hpp"

#include "protocol/assert.hpp"
#include "protocol/limits.hpp"

namespace baton::protocol::feed {

namespace {

std::uint32_t piece_count(const body& data) {
  return static_cast<std::uint32_t>(data.opened.destination_blocks.size());
}

/// Blocks whose every token has been computed; the last, partial one is final with the prompt.
std::uint32_t final_pieces(const body& data) {
  if (data.computed_tokens >= data.opened.prompt_tokens)
    return piece_count(data);
  return data.computed_tokens / data.opened.block_tokens;
}

/// First piece that a scripted stall holds back; piece_count when there is none.
std::uint32_t stall_before(const body& data) {
  const auto& fault = data.opened.fault;
  if (data.stall == stall_phase::over)
    return piece_count(data);
  return static_cast<std::uint32_t>(std::uint64_t{piece_count(data)} * fault.stall_after_permille
                                    / 1000);
}

void offer_what_is_ready(body& data, std::vector<effect>& effects) {
  const lane_id lane = data.opened.lane;
  const std::uint32_t ready = final_pieces(data);
  const std::uint32_t stall = stall_before(data);
  while (data.next_piece < ready && data.next_piece < stall)
    effects.push_back(offer_piece{lane, data.next_piece++});
  if (data.next_piece >= stall && stall < piece_count(data)
      && data.stall == stall_phase::not_yet) {
    data.stall = stall_phase::stalled;
    effects.push_back(arm_stall{data.opened.fault.stall_ms});
  }
  if (data.resume_ready && !data.resume_offered && data.next_piece == piece_count(data)) {
    data.resume_offered = true;
    effects.push_back(offer_resume{lane});
  }
}

step_result advance(body data) {
  std::vector<effect> effects;
  offer_what_is_ready(data, effects);
  if (!data.resume_offered)
    return {offering{std::move(data)}, std::move(effects)};
  effects.push_back(arm_timer{limits::evidence_wait_ms_max});
  return {offered{std::move(data)}, std::move(effects)};
}

step_result begin(const open_feed& e) {
  BATON_ASSERT(e.source_blocks.size() == e.destination_blocks.size());
  BATON_ASSERT(e.block_tokens > 0 && e.prompt_tokens > 0);
  body data;
  data.opened = e;
  data.stall = e.fault.stall_ms > 0 ? stall_phase::not_yet : stall_phase::over;
  return {offering{std::move(data)}, {feed_opened{e.lane}}};
}

step_result ready(body data, const source_ready& e) {
  if (e.computed_tokens > data.computed_tokens)
    data.computed_tokens = e.computed_tokens;
  if (!e.resume.values.empty())
    data.resume_ready = true;
  return advance(std::move(data));
}

/// `timed`: the query timer runs already.
step_result withdraw(body data, bool timed) {
  const lane_id lane = data.opened.lane;
  std::vector<effect> effects{withdraw_offers{lane}, query_lane{lane}};
  if (!timed)
    effects.push_back(arm_timer{limits::evidence_wait_ms_max});
  return {withdrawn{std::move(data)}, std::move(effects)};
}

step_result ask_again(state s, const lane_id& lane) {
  return {std::move(s), {query_lane{lane}, arm_timer{limits::evidence_wait_ms_max}}};
}

step_result receive(const body& data) {
  return {received{}, {feed_received{data.opened.lane}, end_actor{}}};
}

step_result stop(const body& data) {
  const failure why{reason::cancelled, "the destination stopped reading"};
  return {stopped{}, {feed_stopped{data.opened.lane, why}, end_actor{}}};
}

template <class State>
step_result reject(State s, const offer_rejected& e) {
  s.data.rejected = e.why;
  return {std::move(s), {feed_rejected{e.lane, e.why}}};
}

/// The feed's word again, for a hold that may have missed it.
template <class State>
step_result answer(State s) {
  const lane_id lane = s.data.opened.lane;
  if (s.data.rejected)
    return {s, {feed_rejected{lane, s.data.rejected}}};
  return {std::move(s), {feed_opened{lane}}};
}

step_result stall_over(body data) {
  data.stall = stall_phase::over;
  return advance(std::move(data));
}

} // namespace

step_result step(state before, const event& event, instant) {
  const auto same = [&]() -> step_result { return {std::move(before), {}}; };
  const auto impossible = [&]() -> step_result {
    BATON_ASSERT(!"this event cannot happen in this state of a feed");
    return same();
  };
  return std::visit(
    overloaded{
      [&](nascent&, const open_feed& e) { return begin(e); },
      [&](offering& s, const open_feed&) { return answer(std::move(s)); },
      [&](offering& s, const ask_feed&) { return answer(std::move(s)); },
      [&](offering& s, const source_ready& e) { return ready(std::move(s.data), e); },
      [&](offering& s, const stall_ended&) { return stall_over(std::move(s.data)); },
      [&](offering& s, const withdraw_feed&) { return withdraw(std::move(s.data), false); },
      [&](offering& s, const offer_rejected& e) { return reject(std::move(s), e); },
      // The destination may stop (lease, cancel) before everything was offered.
      [&](offering& s, const reader_stopped&) { return stop(s.data); },
      // A receipt needs every piece, but it is the reader's last word whenever it comes.
      [&](offering& s, const receipt_arrived&) { return receive(s.data); },
      [&](offered& s, const open_feed&) { return answer(std::move(s)); },
      [&](offered& s, const ask_feed&) { return answer(std::move(s)); },
      [&](offered&, const source_ready&) { return same(); },
      [&](offered&, const stall_ended&) { return same(); },
      [&](offered& s, const withdraw_feed&) { return withdraw(std::move(s.data), true); },
      [&](offered& s, const offer_rejected& e) { return reject(std::move(s), e); },
      [&](offered& s, const receipt_arrived&) { return receive(s.data); },
      [&](offered& s, const reader_stopped&) { return stop(s.data); },
      [&](offered& s, const query_due&) {
        const lane_id lane = s.data.opened.lane;
        return ask_again(std::move(s), lane);
      },
      [&](withdrawn&, const open_feed&) { return same(); }, // overtaken by the withdrawal
      [&](withdrawn&, const ask_feed&) { return same(); },
      [&](withdrawn&, const source_ready&) { return same(); },
      [&](withdrawn&, const stall_ended&) { return same(); },
      [&](withdrawn&, const withdraw_feed&) { return same(); },
      [&](withdrawn&, const offer_rejected&) { return same(); },
      [&](withdrawn& s, const receipt_arrived&) { return receive(s.data); },
      [&](withdrawn& s, const reader_stopped&) { return stop(s.data); },
      [&](withdrawn& s, const query_due&) {
        const lane_id lane = s.data.opened.lane;
        return ask_again(std::move(s), lane);
      },
      [&](nascent&, const auto&) { return impossible(); },
      [&](offering&, const query_due&) { return impossible(); },
      [&](received&, const auto&) { return same(); },
      [&](stopped&, const auto&) { return same(); },
    },
    before, event);
}

const char* name_of(const state& s) {
  return std::visit(overloaded{
                      [](const nascent&) { return "nascent"; },
                      [](const offering&) { return "offering"; },
                      [](const offered&) { return "offered"; },
                      [](const withdrawn&) { return "withdrawn"; },
                      [](const received&) { return "received"; },
                      [](const stopped&) { return "stopped"; },
                    },
                    s);
}

} // namespace baton::protocol::feed
