// I5, I7, I12, I14: what a holder, a lane or a feed has just been told, and what it made of that.
#include "protocol/invariants.hpp"
#include "protocol/transfer_manifest.hpp"

#include <algorithm>

namespace baton::protocol::invariants {

namespace {

std::string text(const reservation_id& id) { return "reservation " + std::to_string(id.number); }
std::string text(const lane_id& id) {
  return "lane " + std::to_string(id.source.value) + "->" + std::to_string(id.destination.value);
}

void check_offer(const trace_step& step, const charge& c, const manifest_offered& e,
                 verdicts& out) {
  if (step.did("open_lane") && instant{step.record.begin_ns} >= c.lease_end)
    out.add({"I5", text(c.id) + " lets bytes in after its lease has ended",
             {c.granted_at, step.index}, c.blocks});
  if (step.did("transfer_opened") && c.let_in && *c.let_in != e.hold)
    out.add({"I5",
             text(c.id) + " lets source hold " + std::to_string(e.hold.number)
               + " send beside hold " + std::to_string(c.let_in->number),
             {c.offered_at.value_or(c.granted_at), step.index}, c.blocks});
}

void check_commit(const trace_step& step, const charge& c, const commit& e, verdicts& out) {
  if (!step.did("activate_sequence"))
    return;
  if (e.generation_sum != generation_sum(c.blocks))
    out.add({"I5", text(c.id) + " commits another generation of its blocks",
             {c.granted_at, step.index}, c.blocks});
  if (!step.did("mark_live"))
    out.add({"I7", text(c.id) + " is decoded and its pool is not told",
             {c.granted_at, step.index}, c.blocks});
}

/// A receipt says that every piece has landed: no less, and no later.
void check_piece(const trace_world& world, const trace_step& step, const piece_landed& e,
                 verdicts& out) {
  const bool landed = step.did("lane_landed");
  if (landed != step.did("send_receipt"))
    out.add({"I14",
             text(e.lane)
               + (landed ? " has every piece and sends no receipt" : " sends a receipt too early"),
             {step.index}, {}});
  const lane_facts* lane = world.lane(e.lane);
  if (!landed || lane == nullptr || !lane->opened_at)
    return;
  const std::size_t have = lane->pieces.size() + (lane->pieces.count(e.piece) == 0 ? 1 : 0);
  if (have < lane->pieces_wanted)
    out.add({"I5",
             text(e.lane) + " has landed with " + std::to_string(have) + " pieces of "
               + std::to_string(lane->pieces_wanted),
             {*lane->opened_at, step.index}, {}});
}

void check_grant(const trace_world& world, const trace_step& step, const begin_reservation& e,
                 verdicts& out) {
  const grant& granted = e.opened.granted;
  const pool_facts* pool = world.pool_of(granted.reservation);
  if (pool == nullptr)
    return;
  const std::uint64_t tokens
    = std::uint64_t{e.opened.asked.spec.prompt_tokens} + e.opened.asked.spec.output_tokens;
  if (granted.blocks.size() * pool->formed.block_tokens < tokens)
    out.add({"I12", text(granted.reservation) + " has no room for its output budget",
             {step.index}, granted.blocks});
  if (pool->slots_used >= pool->formed.decode_slots)
    out.add({"I12",
             "pool " + pool->formed.group.value + " lets in more than its "
               + std::to_string(pool->formed.decode_slots) + " decode slots",
             {pool->formed_at, step.index}, {}});
  const auto before = world.destinations.find(granted.attempt);
  for (std::size_t i = 0; before != world.destinations.end() && i < before->second.size(); ++i) {
    const charge* other = world.find(before->second[i]);
    if (other != nullptr && other->id.owner == granted.reservation.owner && !other->reclaimed_at)
      out.add({"I12",
               text(granted.reservation) + " is granted to an attempt that holds "
                 + text(other->id),
               {other->granted_at, step.index}, granted.blocks});
  }
}

/// A pool hears only words for its own life.
void check_owner(const trace_world& world, const trace_step& step, const reservation_id& id,
                 verdicts& out) {
  if (!step.at("pool") || step.record.effects.empty())
    return;
  for (const auto& [owner, pool] : world.pools)
    if (pool.section == step.key.section && owner != id.owner)
      out.add({"I10", step.record.actor + " acts on a word for another life",
               {pool.formed_at, step.index}, {}});
}

} // namespace

void words_are_judged(const trace_world& world, const trace_step& step, verdicts& out) {
  const charge* c = step.at("reservation") ? world.held_by(step) : nullptr;
  if (const auto* e = std::get_if<manifest_offered>(&step.fact); e != nullptr && c != nullptr)
    check_offer(step, *c, *e, out);
  if (const auto* e = std::get_if<commit>(&step.fact)) {
    if (c != nullptr)
      check_commit(step, *c, *e, out);
    check_owner(world, step, e->reservation, out);
  }
  if (const auto* e = std::get_if<revoke_reservation>(&step.fact))
    check_owner(world, step, e->reservation, out);
  if (const auto* e = std::get_if<cancel_source>(&step.fact))
    check_owner(world, step, e->hold, out);
  if (const auto* e = std::get_if<piece_landed>(&step.fact); e != nullptr && step.at("lane"))
    check_piece(world, step, *e, out);
  if (const auto* e = std::get_if<begin_reservation>(&step.fact))
    check_grant(world, step, *e, out);
}

void states_agree(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto* e = std::get_if<lane_landed>(&step.fact);
  const charge* c = e != nullptr && step.at("reservation") ? world.held_by(step) : nullptr;
  if (c == nullptr || !step.did("transfer_completed"))
    return;
  for (const auto& [id, lane] : c->lanes)
    if (lane.landed_at && lane.resume_digest != e->resume_digest)
      out.add({"I5",
               text(c->id) + " is complete although " + text(id) + " and " + text(e->lane)
                 + " brought different final hidden states",
               {*lane.landed_at, step.index}, {}});
}

void lane_begins_once(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto* e = std::get_if<open_lane>(&step.fact);
  if (e == nullptr || !step.at("lane") || !step.did("admit_lane"))
    return;
  const lane_facts* lane = world.lane(e->lane);
  if (lane != nullptr && (lane->opened_at || lane->stopped_at))
    out.add({"I3",
             text(e->lane) + " begins although it "
               + (lane->stopped_at ? "is said to have stopped" : "has begun before"),
             {lane->stopped_at.value_or(lane->opened_at.value_or(step.index)), step.index}, {}});
}

void evidence_is_heard(const trace_world&, const trace_step& step, verdicts& out) {
  struct evidence {
    const char* machine;
    const char* word;
    const char* heard;
  };
  static constexpr evidence all[] = {{"lane", "lane_stopped", "receives_quiesced"},
                                     {"feed", "feed_stopped", "reader_stopped"},
                                     {"feed", "feed_received", "receipt_arrived"}};
  for (const auto& e : all)
    if (step.at(e.machine) && step.did(e.word) && step.record.message != e.heard)
      out.add({step.at("lane") ? "I3" : "I14",
               step.record.actor + " says " + e.word + " on " + step.record.message
                 + ", which is no evidence",
               {step.index}, {}});
}

void offers_are_computed(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto* e = std::get_if<source_ready>(&step.fact);
  const auto feed = world.feeds.find(step.key.actor);
  if (e == nullptr || !step.at("feed") || feed == world.feeds.end())
    return;
  const auto& f = feed->second;
  const auto& effects = step.record.effects;
  const auto offered = f.offered + std::count(effects.begin(), effects.end(), "offer_piece");
  const bool whole = e->computed_tokens >= f.prompt_tokens;
  const std::uint64_t final_blocks = e->computed_tokens / f.block_tokens;
  if (!whole && static_cast<std::uint64_t>(offered) > final_blocks)
    out.add({"I7",
             step.record.actor + " has offered " + std::to_string(offered) + " blocks; final are "
               + std::to_string(final_blocks),
             {f.opened_at, step.index}, {}});
}

void receipts_were_sent(const trace_world& world, const trace_ends&, verdicts& out) {
  for (const auto& [id, hold] : world.charges)
    for (const auto& [lane_name, feed] : hold.feeds) {
      const lane_facts* lane = world.lane(lane_name);
      const bool known = lane != nullptr && lane->opened_at
                         && !world.sections[lane->section].incomplete();
      if (feed.received_at && known && !lane->received_at)
        out.add({"I14",
                 "source hold " + std::to_string(id.number) + " was told that " + text(lane_name)
                   + " has received all, which that lane never said",
                 {*lane->opened_at, *feed.received_at}, {}});
    }
}

} // namespace baton::protocol::invariants
