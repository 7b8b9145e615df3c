#include "protocol/reservation_steps.hpp"

#include "protocol/assert.hpp"
#include "protocol/limits.hpp"
#include "protocol/transfer_manifest.hpp"

#include <algorithm>

namespace baton::protocol::reservation {

namespace {

/// Bytes of the resume state: one float for each element of the final hidden vector.
std::uint64_t resume_bytes(const body& data) {
  return std::uint64_t{data.begun.model.hidden} * sizeof(float);
}

open_lane lane_to_open(const body& data, const lane_plan& plan) {
  const auto& asked = data.begun.opened.asked;
  const auto& granted = grant_of(data);
  open_lane lane;
  lane.lane = {granted.reservation, plan.source, plan.destination};
  lane.attempt = granted.attempt;
  lane.heads = plan.heads;
  lane.source_node = {asked.source.group.value + "." + std::to_string(plan.source.value)};
  lane.source_life = asked.source.ranks.at(plan.source.value);
  if (asked.spec.fault.wrong_incarnation)
    lane.source_life.low ^= 1;
  lane.source_tp = asked.source.tp_degree;
  lane.blocks.assign(granted.blocks.begin(), granted.blocks.begin() + granted.prompt_blocks);
  lane.resume_bytes = resume_bytes(data);
  if (granted.mapped) {
    lane.hold = data.hold;
    lane.writer = asked.source.ranks.at(plan.source.value);
  }
  return lane;
}

/// In a mixed group there is one lane, whose mover is the group itself; nothing has to be opened.
step_result open_in_place(body data, effects_list effects) {
  const lane_plan plan{{0}, {0}, {0, data.begun.model.kv_heads}};
  const reservation_id id = grant_of(data).reservation;
  data.lanes.emplace(lane_id{id, {0}, {0}}, lane_entry{plan, lane_status::open, false});
  effects.push_back(transfer_opened{id, {plan}, data.hold});
  return {receiving{std::move(data)}, std::move(effects)};
}

bool every(const body& data, lane_status status) {
  return std::all_of(data.lanes.begin(), data.lanes.end(),
                     [&](const auto& l) { return l.second.status == status; });
}

bool any_lost(const body& data) {
  return std::any_of(data.lanes.begin(), data.lanes.end(),
                     [](const auto& l) { return l.second.status == lane_status::lost; });
}

bool is_open(const lane_entry& lane) {
  return lane.status == lane_status::open || lane.status == lane_status::landed;
}

/// Its last word is still to come; a lost node says none.
bool is_awaited(const lane_entry& lane) {
  return lane.status != lane_status::stopped && lane.status != lane_status::lost;
}

/// Asks for the stop evidence of every lane that has not given it.
void stop_lanes(const body& data, bool ending, effects_list& effects) {
  const bool unread = grant_of(data).mapped && ending && data.reading != readers::active;
  for (const auto& [id, lane] : data.lanes)
    if (is_awaited(lane))
      effects.push_back(stop_lane{id, grant_of(data).blocks.front(), unread});
}

lane_entry* find_lane(body& data, const lane_id& id) {
  const auto it = data.lanes.find(id);
  return it == data.lanes.end() ? nullptr : &it->second;
}

/// Takes a landing in: a set, not a count. Failure when the lanes brought different states.
failure land(body& data, const lane_landed& e) {
  lane_entry* lane = find_lane(data, e.lane);
  if (lane == nullptr || lane->landed || !is_awaited(*lane))
    return {};
  lane->landed = true;
  lane->status = lane_status::landed;
  if (data.resume_digest && *data.resume_digest != e.resume_digest)
    return {reason::corrupt, "ranks handed over different final hidden states"};
  data.resume_digest = e.resume_digest;
  return {};
}

step_result complete_if_landed(receiving s, effects_list effects) {
  if (!every(s.data, lane_status::landed))
    return {std::move(s), std::move(effects)};
  effects.push_back(transfer_completed{attempt_of(s.data), grant_of(s.data).reservation});
  stop_lanes(s.data, false, effects); // nothing more is expected: gather the evidence now
  return {complete{std::move(s.data)}, std::move(effects)};
}

step_result receive_if_open(reserved s) {
  const auto& lanes = s.data.lanes;
  const auto open = [](const auto& l) { return is_open(l.second); };
  if (lanes.empty() || !std::all_of(lanes.begin(), lanes.end(), open))
    return {std::move(s), {}};
  effects_list effects{opened_transfer(s.data)};
  return complete_if_landed({std::move(s.data)}, std::move(effects));
}

} // namespace

const grant& grant_of(const body& data) { return data.begun.opened.granted; }
const attempt_id& attempt_of(const body& data) { return grant_of(data).attempt; }

step_result begin(const begin_reservation& e, instant now) {
  BATON_ASSERT(e.lease_ms > 0);
  body data;
  data.begun = e;
  data.begun.opened.granted.lease_ms = e.lease_ms;
  data.lease_end = after_ms(now, e.lease_ms);
  reserve_granted answer{grant_of(data)};
  return {reserved{std::move(data)}, {std::move(answer), arm_lease{e.lease_ms}}};
}

step_result check_offer(reserved s, const manifest_offered& e, instant now) {
  body& data = s.data;
  if (!data.lanes.empty() && e.hold != data.hold) {
    auto refusal = refused_transfer(data, e.hold);
    return {std::move(s), {std::move(refusal)}};
  }
  if (!data.lanes.empty())
    return {std::move(s), {}}; // a repeated offer adds nothing
  if (now >= data.lease_end)
    return revoke(std::move(data), {reason::lease_expired, "the lease ended before the offer"},
                  true);
  const auto& asked = data.begun.opened.asked;
  const manifest expected = destination_manifest(data.begun.model, asked, grant_of(data));
  if (failure why = check_manifest(expected, e.offered))
    return revoke(std::move(data), why, true);
  data.hold = e.hold;
  if (grant_of(data).in_place && !grant_of(data).mapped)
    return open_in_place(std::move(data), {});
  const auto plans = plan_lanes(data.begun.model.kv_heads, asked.source.tp_degree,
                                grant_of(data).tp_degree);
  if (!plans)
    return revoke(std::move(data), plans.error(), true);
  effects_list effects;
  for (const auto& plan : plans.value()) {
    open_lane lane = lane_to_open(data, plan);
    data.lanes.emplace(lane.lane, lane_entry{plan, lane_status::opening, false});
    effects.push_back(std::move(lane));
  }
  effects.push_back(arm_evidence{limits::evidence_wait_ms_max});
  return {std::move(s), std::move(effects)};
}

step_result lane_is_open(reserved s, const lane_opened& e) {
  lane_entry* lane = find_lane(s.data, e.lane);
  if (lane == nullptr || lane->status != lane_status::opening)
    return {std::move(s), {}};
  lane->status = lane_status::open;
  return receive_if_open(std::move(s));
}

step_result lane_has_landed(reserved s, const lane_landed& e) {
  if (failure why = land(s.data, e))
    return revoke(std::move(s.data), why, true);
  return receive_if_open(std::move(s));
}

step_result lane_has_landed(receiving s, const lane_landed& e) {
  if (failure why = land(s.data, e))
    return revoke(std::move(s.data), why, true);
  return complete_if_landed(std::move(s), {});
}

transfer_opened opened_transfer(const body& data) {
  transfer_opened answer{grant_of(data).reservation, {}, data.hold};
  for (const auto& [id, lane] : data.lanes)
    answer.lanes.push_back(lane.plan);
  return answer;
}

transfer_refused refused_transfer(const body& data, const reservation_id& hold) {
  if (data.ended)
    return {grant_of(data).reservation, hold, data.ended};
  return {grant_of(data).reservation, hold,
          {reason::stale_attempt, "the reservation receives from another source hold, or no more"}};
}

bool is_commit_of(const body& data, const commit& e) {
  return e.attempt == attempt_of(data) && e.reservation == grant_of(data).reservation
         && e.generation_sum == generation_sum(grant_of(data).blocks);
}

failure commit_objection(const body& data, const commit& e, instant now) {
  if (e.attempt != attempt_of(data) || e.reservation != grant_of(data).reservation)
    return {reason::stale_attempt, "the commit names another attempt or reservation"};
  if (e.generation_sum != generation_sum(grant_of(data).blocks))
    return {reason::stale_generation, "the commit names another generation of the blocks"};
  if (now >= data.lease_end) // the exact instant is already too late
    return {reason::lease_expired, "the lease ended before the commit"};
  return {};
}

step_result try_commit(complete s, const commit& e, instant now) {
  if (failure why = commit_objection(s.data, e, now)) {
    if (why.why == reason::lease_expired) {
      auto result = revoke(std::move(s.data), why, false);
      result.effects.push_back(commit_refused{e.attempt, why});
      return result;
    }
    return {std::move(s), {commit_refused{e.attempt, why}}};
  }
  const auto& asked = s.data.begun.opened.asked;
  activate_sequence activate;
  activate.sequence = grant_of(s.data).sequence;
  activate.attempt = e.attempt;
  activate.prompt = asked.prompt;
  for (const auto& ref : grant_of(s.data).blocks)
    activate.blocks.push_back(ref.block);
  activate.output_tokens = asked.spec.output_tokens;
  activate.ignore_eos = asked.spec.ignore_eos;
  activate.sampling = asked.spec.sampling;
  activate.record_logits = asked.spec.record_logits;
  activate.record_kv_digest = asked.spec.record_kv_digest;
  s.data.reading = readers::active;
  return {live{std::move(s.data)},
          {mark_live{e.reservation}, committed{e.attempt}, std::move(activate)}};
}

step_result revoke(body data, const failure& why, bool tell_attempt) {
  effects_list effects;
  data.ended = why;
  if (tell_attempt)
    effects.push_back(reservation_revoked{attempt_of(data), grant_of(data).reservation, why});
  return retire(std::move(data), std::move(effects));
}

step_result retire(body data, effects_list effects) {
  const bool was_live = data.reading != readers::none;
  effects.push_back(quarantine_blocks{grant_of(data).reservation});
  stop_lanes(data, true, effects);
  return reclaim_or_wait(std::move(data), std::move(effects), was_live);
}

void ask_lanes(const body& data, lane_need need, effects_list& effects) {
  const bool receiving = need == lane_need::landing;
  if (!receiving)
    stop_lanes(data, need == lane_need::end, effects);
  for (const auto& [id, lane] : data.lanes) {
    if (receiving && lane.status == lane_status::opening)
      effects.push_back(lane_to_open(data, lane.plan));
    if (receiving && lane.status == lane_status::open)
      effects.push_back(ask_lane{id});
  }
  const auto awaited = [](const auto& l) { return is_awaited(l.second); };
  if (std::any_of(data.lanes.begin(), data.lanes.end(), awaited))
    effects.push_back(arm_evidence{limits::evidence_wait_ms_max});
}

failure without_proof() {
  return {reason::peer_lost, "a rank was lost with a lane open: no stop evidence"};
}

void mark_stopped(body& data, const lane_id& id) {
  if (lane_entry* lane = find_lane(data, id))
    lane->status = lane_status::stopped;
}

void mark_lost(body& data, const lane_id& id) {
  lane_entry* lane = find_lane(data, id);
  BATON_ASSERT(lane != nullptr); // said by this node
  if (lane->status != lane_status::stopped)
    lane->status = lane_status::lost;
}

step_result reclaim_or_wait(body data, effects_list effects, bool retiring_now) {
  const reservation_id id = grant_of(data).reservation;
  if (every(data, lane_status::stopped) && data.reading != readers::active) {
    effects.push_back(forget_attempt{attempt_of(data)});
    effects.push_back(reclaim_blocks{id});
    return {reclaiming{std::move(data)}, std::move(effects)};
  }
  if (any_lost(data)) {
    effects.push_back(reservation_quarantined{attempt_of(data), id, without_proof()});
    return {quarantined{std::move(data)}, std::move(effects)};
  }
  if (retiring_now)
    return {retiring{std::move(data)}, std::move(effects)};
  return {draining{std::move(data)}, std::move(effects)};
}

} // namespace baton::protocol::reservation
