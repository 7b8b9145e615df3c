// I9, I10, I11, I13 at each step; I13, I15, I16 at the end: lives, limits, schedules, endings.
#include "protocol/invariants.hpp"
#include "protocol/limits.hpp"
#include "protocol/trace_line.hpp"

#include <algorithm>

namespace baton::protocol::invariants {

namespace {

/// A state that only ends things, and the effects that it may still have.
struct ending_state {
  const char* machine;
  const char* state;
  std::vector<std::string> clean_up;
};

const std::vector<ending_state>& ending_states() {
  static const std::vector<std::string> reservation_ends
    = {"quarantine_blocks", "reclaim_blocks", "stop_lane", "forget_attempt", "commit_refused",
       "end_actor", "reservation_reclaimed", "reservation_quarantined",
       // said again, or asked again
       "reservation_revoked", "decode_finished", "transfer_refused", "arm_evidence"};
  static const std::vector<std::string> request_ends = {"commit_claimed", "end_actor"};
  static const std::vector<std::string> attempt_ends
    = {"revoke_reservation", "cancel_source",    "withdraw_attempt", "query_reservation",
       "query_source",       "attempt_drained",  "arm_answer",       "end_actor"};
  static const std::vector<ending_state> all = {
    {"reservation", "retiring", reservation_ends},
    {"reservation", "draining", reservation_ends},
    {"reservation", "quarantined", reservation_ends},
    {"reservation", "reclaiming", reservation_ends},
    {"reservation", "reclaimed", {}},
    {"lane", "abort_requested", {"lane_stopped", "end_actor"}},
    {"lane", "retired", {}},
    {"feed", "withdrawn",
     {"query_lane", "arm_timer", "feed_received", "feed_stopped", "end_actor"}},
    {"feed", "received", {}},
    {"feed", "stopped", {}},
    {"source_hold", "draining",
     {"lane_stopped", "end_sequence", "quarantine_blocks", "reclaim_blocks",
      "withdraw_feed", "source_failed", "arm_evidence"}},
    {"source_hold", "releasing", {"source_released", "end_actor"}},
    {"source_hold", "released", {}},
    {"attempt", "done", attempt_ends},
    {"attempt", "abandoned", attempt_ends},
    {"attempt", "drained", {}},
    {"request", "completed", request_ends},
    {"request", "failed", request_ends},
    {"request", "cancelled", request_ends},
    {"request", "interrupted", request_ends},
    {"request", "refused", request_ends},
    {"request", "gone", {}},
    {"rank_group", "poisoned",
     {"sequence_finished", "sequence_quiesced", "end_sequence", "prefill_computed"}},
  };
  return all;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Asking the sender to give back what it says it has is no act on its word: a lost group's leader
/// may still listen.
bool acted(const trace_step& step) {
  static const std::vector<std::string> answers = {"revoke_reservation", "cancel_source"};
  const auto& effects = step.record.effects;
  return step.record.before != step.record.after
         || std::any_of(effects.begin(), effects.end(),
                        [](const std::string& effect) { return !holds(answers, effect); });
}

void check_source_life(const trace_world& world, const trace_step& step, const piece_landed& e,
                       verdicts& out) {
  const auto holds = world.holds.find(e.lane.reservation);
  const charge* c = world.find(e.lane.reservation);
  if (holds == world.holds.end() || c == nullptr)
    return;
  const auto lane = c->lanes.find(e.lane);
  if (lane == c->lanes.end() || !lane->second.opened_at)
    return;
  const feed_facts* last = nullptr; // of those that may have offered it
  for (const reservation_id& id : holds->second) {
    const auto& feeds = world.find(id)->feeds;
    const auto feed = feeds.find(e.lane);
    if (feed == feeds.end())
      continue;
    last = &feed->second;
    if (world.sections[last->section].header.life == lane->second.source_life)
      return;
  }
  if (last == nullptr)
    return;
  const incarnation offers = world.sections[last->section].header.life;
  out.add({"I10",
           "a piece of life " + to_string(offers).substr(0, 12) + " landed; the lane lets in "
             + to_string(lane->second.source_life).substr(0, 12),
           {*lane->second.opened_at, last->opened_at, step.index},
           {e.block}});
}

/// Limit `max` of what `have` counts.
void limit(const trace_step& step, verdicts& out, const char* what, std::uint64_t have,
           std::uint64_t max) {
  if (have > max)
    out.add({"I11",
             std::string(what) + ": " + std::to_string(have) + ", the limit is "
               + std::to_string(max),
             {step.index},
             {}});
}

} // namespace

void only_clean_up(const trace_world&, const trace_step& step, verdicts& out) {
  for (const auto& ending : ending_states()) {
    if (!step.at(ending.machine) || step.record.before != ending.state)
      continue;
    for (const auto& effect : step.record.effects)
      if (!holds(ending.clean_up, effect))
        out.add({"I9",
                 step.record.actor + " is " + ending.state + " and still does " + effect,
                 {step.index},
                 {}});
    if (ending.clean_up.empty() && step.record.after != ending.state)
      out.add({"I9",
               step.record.actor + " leaves its last state " + ending.state + " for "
                 + step.record.after,
               {step.index},
               {}});
  }
}

void fenced_is_silent(const trace_world& world, const trace_step& step, verdicts& out) {
  if (const auto* e = std::get_if<piece_landed>(&step.fact); e != nullptr && step.at("lane"))
    check_source_life(world, step, *e, out);
  const auto fences = world.fences.find(step.key.actor);
  if (fences == world.fences.end() || !step.sender_section || !acted(step))
    return;
  for (const fence& f : fences->second)
    if (f.sections.count(*step.sender_section) > 0)
      out.add({"I10",
               step.record.actor + " acts on " + step.record.message + " from "
                 + node_of_sender(step.record.header.sender) + ", whose group was lost before",
               {f.at, step.index},
               {}});
}

void within_limits(const trace_world& world, const trace_step& step, verdicts& out) {
  if (const auto* e = std::get_if<begin_reservation>(&step.fact)) {
    limit(step, out, "blocks of a reservation", e->opened.granted.blocks.size(),
          limits::blocks_per_reservation_max);
    limit(step, out, "milliseconds of a lease", static_cast<std::uint64_t>(e->lease_ms),
          static_cast<std::uint64_t>(limits::lease_ms_max));
    limit(step, out, "attempts of a request", e->opened.granted.attempt.ordinal,
          limits::attempts_per_request_max);
    if (const pool_facts* pool = world.pool_of(e->opened.granted.reservation))
      limit(step, out, "open reservations of a pool", pool->charges_open + 1U,
            limits::reservations_open_max);
  }
  if (const auto* e = std::get_if<open_lane>(&step.fact); e != nullptr && step.at("lane"))
    if (const charge* c = world.find(e->lane.reservation))
      limit(step, out, "lanes of a reservation", c->lanes.size(),
            limits::lanes_per_reservation_max);
}

void same_schedule(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto* e = std::get_if<run_step>(&step.fact);
  if (e == nullptr || !step.record.machine.empty())
    return;
  const auto found = world.schedules.find(schedule_of(step, *e));
  static const schedule_facts empty;
  const schedule_facts& schedule = found == world.schedules.end() ? empty : found->second;
  const auto rank = schedule.ranks.find(step.key.section);
  const std::uint64_t last = rank == schedule.ranks.end() ? 0 : rank->second.last_step;
  const std::string where = step.section.header.node.value + " runs step "
                            + std::to_string(e->step.value) + " of epoch "
                            + std::to_string(e->epoch.value);
  if (e->step.value != last + 1 && !step.section.lost) {
    std::vector<std::size_t> shown{step.index};
    if (rank != schedule.ranks.end())
      shown.insert(shown.begin(), rank->second.last_at);
    out.add({"I13", where + " after step " + std::to_string(last), shown, {}});
  }
  const auto other = schedule.steps.find(e->step.value);
  if (other != schedule.steps.end() && other->second.slices != slices_text(*e))
    out.add({"I13",
             where + " as [" + slices_text(*e) + "], another rank as [" + other->second.slices
               + "]",
             {other->second.first_at, step.index},
             {}});
}

// -- at the end -----------------------------------------------------------------------------------

void every_request_ends(const trace_world& world, const trace_ends& ends, verdicts& out) {
  for (const auto& [id, request] : world.requests) {
    if (!request.opened_at || request.ended_at)
      continue;
    const auto section = ends.source.keys()[*request.opened_at].section;
    if (!world.sections[section].incomplete())
      out.add({"I15",
               "request " + to_string(id).substr(0, 12) + " (" + request.external.value
                 + ") has no outcome",
               {*request.opened_at},
               {}});
  }
  for (const auto& [key, external] : world.externals) {
    const auto router = ends.source.keys()[external.last_at].section;
    const bool whole
      = !world.sections[key.first].incomplete() && !world.sections[router].incomplete();
    if (external.submitted != external.ended && whole)
      out.add({"I15",
               key.second + " was submitted " + std::to_string(external.submitted)
                 + " times and has " + std::to_string(external.ended) + " outcomes",
               {external.last_at},
               {}});
  }
}

void everything_drains(const trace_world& world, const trace_ends& ends, verdicts& out) {
  std::map<incarnation, std::uint64_t> unproven; ///< blocks that stay quarantined, by pool
  for (const auto& [actor, left] : ends.living) {
    if (world.sections[left.section].incomplete())
      continue;
    if (left.machine == "reservation" && left.state == "quarantined") {
      const auto it = world.charge_of_actor.find(actor);
      const charge* c = it == world.charge_of_actor.end() ? nullptr : world.find(it->second);
      if (c != nullptr)
        unproven[c->id.owner] += c->blocks.size();
      continue; // a lane's node was lost: without proof it never ends
    }
    out.add({"I16",
             world.sections[left.section].header.node.value + ":" + left.name + " is left "
               + left.state,
             {left.last_at},
             {}});
  }
  for (const auto& [owner, pool] : world.pools) {
    const std::uint64_t proven
      = pool.charged_blocks - std::min(pool.charged_blocks, unproven[owner]);
    if (proven > 0 && !world.sections[pool.section].incomplete())
      out.add({"I16",
               "pool " + pool.formed.group.value + " ends with " + std::to_string(proven)
                 + " blocks charged of " + std::to_string(pool.formed.blocks),
               {pool.formed_at},
               {}});
  }
}

void schedules_end_together(const trace_world& world, const trace_ends&, verdicts& out) {
  for (const auto& [key, schedule] : world.schedules) {
    const bool leader_is_whole
      = key.first < world.sections.size() && !world.sections[key.first].incomplete();
    if (!leader_is_whole || world.poisoned_leaders.count(key.first) > 0)
      continue;
    const std::uint64_t issued = schedule.steps.rbegin()->first;
    for (const auto& [section, rank] : schedule.ranks)
      if (rank.last_step != issued && !world.sections[section].incomplete())
        out.add({"I13",
                 world.sections[section].header.node.value + " ran "
                   + std::to_string(rank.last_step) + " steps, its group "
                   + std::to_string(issued),
                 {rank.last_at},
                 {}});
  }
}

} // namespace baton::protocol::invariants
