// I5, I6, I7, I8: one owner commits, and only its frames are seen.
#include "protocol/invariants.hpp"

#include <algorithm>

namespace baton::protocol::invariants {

namespace {

const commit* committed_by(const trace_step& step) {
  const auto* e = std::get_if<commit>(&step.fact);
  return e != nullptr && step.at("reservation") && step.did("activate_sequence") ? e : nullptr;
}

std::string text(const attempt_id& id) {
  return "attempt " + std::to_string(id.ordinal) + " of request "
         + to_string(id.request).substr(0, 12);
}

/// False where the claim may have been granted in a record that is missing.
bool router_is_whole(const trace_world& world) {
  return std::any_of(world.sections.begin(), world.sections.end(), [](const auto& s) {
    return s.header.node.value == "router" && !s.incomplete();
  });
}

bool same_blocks(const std::vector<block_ref>& granted, const std::vector<block_id>& used) {
  return std::equal(granted.begin(), granted.end(), used.begin(), used.end(),
                    [](const block_ref& a, const block_id& b) { return a.block == b; });
}

/// Two attempts that own a request at a time; `e` is the later answer.
void check_one_owner(const trace_world& world, const trace_step& step, const commit_claimed& e,
                     verdicts& out) {
  const auto request = world.requests.find(e.attempt.request);
  if (request == world.requests.end())
    return;
  const auto& owners = request->second.owners;
  const auto claimed = owners.find(e.attempt);
  const ownership mine
    = claimed == owners.end() ? ownership{world.turn, ownership::never, {}} : claimed->second;
  for (const auto& [attempt, other] : owners)
    if (other.granted_at && other.from < mine.until && mine.from < other.until)
      out.add({"I6",
               text(e.attempt) + " is given the request while attempt "
                 + std::to_string(attempt.ordinal) + " owns it",
               {*other.granted_at, step.index},
               {}});
}

} // namespace

void commit_needs_all(const trace_world& world, const trace_step& step, verdicts& out) {
  const commit* e = committed_by(step);
  const charge* c = e == nullptr ? nullptr : world.held_by(step);
  if (c == nullptr)
    return;
  const auto lacks = [&](const std::string& what, record_at shown) {
    out.add({"I5", text(e->attempt) + " commits " + what,
             {shown.value_or(c->granted_at), step.index}, c->blocks});
  };
  if (!c->offered_at)
    lacks("without an offered manifest", {});
  else if (!c->manifest_problem.empty())
    lacks("although the manifest differs: " + c->manifest_problem, c->offered_at);
  if (!c->completed_at)
    lacks("before its transfer was complete", {});
  for (const auto& [id, lane] : c->lanes)
    if (!lane.landed_at)
      lacks("without lane " + std::to_string(id.source.value) + "->"
              + std::to_string(id.destination.value) + " having landed",
            lane.opened_at);
  if (instant{step.record.begin_ns} >= c->lease_end)
    lacks(std::to_string(step.record.begin_ns - c->lease_end.ns) + " ns after its lease ended", {});
  if (e->reservation != c->id || e->attempt != c->attempt)
    lacks("a reservation of another attempt", {});
  if (world.claims.count(e->attempt) == 0 && router_is_whole(world))
    lacks("without the router's claim", {});
}

void one_commit(const trace_world& world, const trace_step& step, verdicts& out) {
  if (const commit* e = committed_by(step)) {
    const auto all = world.destinations.find(e->attempt);
    for (std::size_t i = 0; all != world.destinations.end() && i < all->second.size(); ++i) {
      const charge* c = world.find(all->second[i]);
      if (c != nullptr && c->committed_at)
        out.add({"I6", text(e->attempt) + " commits a second time", {*c->committed_at, step.index},
                 c->blocks});
    }
  }
  const auto* e = std::get_if<commit_claimed>(&step.fact);
  if (e != nullptr && step.at("attempt") && !e->refusal)
    check_one_owner(world, step, *e, out);
}

void reads_own_blocks(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto* e = std::get_if<activate_sequence>(&step.fact);
  if (e == nullptr || !step.at("rank_group"))
    return;
  const charge* c = world.destination_of(e->attempt, e->sequence);
  if (c == nullptr && world.destinations.count(e->attempt) > 0 && !step.section.incomplete())
    out.add({"I7", text(e->attempt) + " is decoded as a sequence that it was not granted",
             {step.index}, {}});
  if (c == nullptr || c->reclaimed_at)
    return; // a cancelled commit may overtake its activation
  if (!c->committed_at)
    out.add({"I7", text(e->attempt) + " is decoded before its commit", {c->granted_at, step.index},
             c->blocks});
  else if (!same_blocks(c->blocks, e->blocks))
    out.add({"I7", text(e->attempt) + " is decoded from blocks that it was not granted",
             {c->granted_at, step.index}, c->blocks});
}

void frames_in_order(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto* told = std::get_if<frame_forwarded>(&step.fact);
  const auto* emitted = std::get_if<token_emitted>(&step.fact);
  const bool at_client = told != nullptr && step.at_client();
  const bool at_router = emitted != nullptr && step.at("request") && step.did("frame_forwarded");
  if (!at_client && !at_router)
    return;
  const attempt_id& attempt = at_client ? told->attempt : emitted->attempt;
  const std::uint32_t index = at_client ? told->index : emitted->index;
  static const request_facts unknown;
  const auto found = world.requests.find(attempt.request);
  const request_facts& request = found == world.requests.end() ? unknown : found->second;
  const std::uint32_t next = at_client ? request.next_at_client : request.next_at_router;
  const std::string where = at_client ? "the client gets" : "the router forwards";
  std::vector<std::size_t> shown;
  if (request.frame_at)
    shown.push_back(*request.frame_at);
  shown.push_back(step.index);
  if (index != next)
    out.add({"I8",
             where + " frame " + std::to_string(index) + " of request "
               + to_string(attempt.request).substr(0, 12) + ", next is frame "
               + std::to_string(next),
             shown,
             {}});
  const bool claimed = world.claims.count(attempt) > 0 || !router_is_whole(world);
  const bool owner = at_client || request.is_owned_by(attempt);
  if (!claimed || !owner)
    out.add({"I8", where + " a frame of " + text(attempt) + ", which does not own the request",
             shown, {}});
}

} // namespace baton::protocol::invariants
