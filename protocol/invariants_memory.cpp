// I1, I2, I3, I4, I12, I14: who may write, read and reuse memory.
#include "protocol/invariants.hpp"

#include <algorithm>

namespace baton::protocol::invariants {

namespace {

std::string text(const block_ref& ref) {
  return "block " + std::to_string(ref.block.value) + " generation "
         + std::to_string(ref.gen.value);
}
std::string text(const reservation_id& id) { return "reservation " + std::to_string(id.number); }
std::string text(const lane_id& id) {
  return "lane " + std::to_string(id.source.value) + "->" + std::to_string(id.destination.value);
}

struct granting {
  reservation_id id;
  const std::vector<block_ref>* blocks = nullptr; ///< null: the step grants nothing
};

granting granted_by(const trace_step& step) {
  if (const auto* e = std::get_if<begin_reservation>(&step.fact))
    return {e->opened.granted.reservation, &e->opened.granted.blocks};
  if (const auto* e = std::get_if<begin_hold>(&step.fact))
    return {e->opened.hold, &e->opened.blocks};
  return {};
}

/// What a pool's messages say of a block; null for a block or pool that is not in the trace.
const block_facts* facts_of(const trace_world& world, const reservation_id& holder,
                            const block_ref& ref) {
  const pool_facts* pool = world.pool_of(holder);
  return pool == nullptr || ref.block.value >= pool->blocks.size()
           ? nullptr
           : &pool->blocks[ref.block.value];
}

const charge* reclaimed_by(const trace_world& world, const trace_step& step, charge::side side) {
  const auto* e = std::get_if<reclaim_blocks>(&step.fact);
  const charge* c = e != nullptr && step.at("pool") ? world.find(e->reservation) : nullptr;
  return c != nullptr && c->kind == side && !c->reclaimed_at ? c : nullptr;
}

/// Holders that name memory they do not hold (any more): "" when the block is the holder's.
std::string not_held(const trace_world& world, const reservation_id& holder, const block_ref& ref,
                     std::vector<std::size_t>& shown) {
  const block_facts* block = facts_of(world, holder, ref);
  if (block == nullptr)
    return world.pool_of(holder) == nullptr ? "" : "the pool has no such block";
  if (block->holder != holder.number || block->last != ref.gen) {
    shown.push_back(block->granted_at);
    return "it is generation " + std::to_string(block->last.value) + " of "
           + text(reservation_id{holder.owner, block->holder}) + " now";
  }
  if (!block->freed_at)
    return "";
  shown.push_back(*block->freed_at);
  return "its pool has freed it before";
}

bool contains(const std::vector<reservation_id>& ids, const reservation_id& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// In place, the prefiller becomes a writer of its grant's blocks with this step.
void check_in_place_writer(const trace_world& world, const trace_step& step, verdicts& out) {
  const charge* hold = world.held_by(step);
  const charge* written = hold != nullptr ? world.find(hold->destination) : nullptr;
  if (written == nullptr || !contains(written->in_place_holds, hold->id))
    return;
  if (written->reclaimed_at)
    out.add({"I2",
             "a prompt is computed in place into " + text(written->id)
               + ", whose blocks its pool has freed before",
             {written->granted_at, *written->reclaimed_at, step.index},
             {}});
  for (const auto& ref : written->blocks) {
    std::vector<std::size_t> shown;
    const std::string why = not_held(world, written->id, ref, shown);
    shown.push_back(step.index);
    if (!why.empty()) {
      out.add({"I2", "a prompt is computed in place into " + text(ref) + ": " + why, shown, {ref}});
      return;
    }
  }
}

/// A reservation gives its attempt one word of its end; the network may repeat that word.
void check_end_is_said_once(const trace_world& world, const trace_step& step, verdicts& out) {
  if (const charge* c = step.at("reservation") ? world.held_by(step) : nullptr) {
    const auto& effects = step.record.effects;
    const auto words = std::count(effects.begin(), effects.end(), reservation_reclaimed::type);
    if (words + (c->said_reclaimed_at ? 1 : 0) > 1)
      out.add({"I12", text(c->id) + " says a second time that it is reclaimed",
               {c->said_reclaimed_at.value_or(c->granted_at), step.index}, {}});
  }
  const auto* told = std::get_if<reservation_reclaimed>(&step.fact);
  if (told == nullptr || !step.at("attempt") || !told_by_holder(step))
    return;
  const auto before = world.told_reclaimed.find(told->reservation);
  if (before != world.told_reclaimed.end() && !is_same_word(before->second, step))
    out.add({"I12", text(told->reservation) + " is said to be reclaimed a second time",
             {before->second.at, step.index}, {}});
}

} // namespace

void one_owner(const trace_world& world, const trace_step& step, verdicts& out) {
  const granting g = granted_by(step);
  for (std::size_t i = 0; g.blocks != nullptr && i < g.blocks->size(); ++i) {
    const block_ref& ref = (*g.blocks)[i];
    const block_facts* block = facts_of(world, g.id, ref);
    if (block != nullptr && block->holder != 0 && !block->freed_at)
      out.add({"I1",
               text(ref) + " is granted to " + text(g.id) + " while "
                 + text(reservation_id{g.id.owner, block->holder}) + " holds it",
               {block->granted_at, step.index},
               {ref, {ref.block, block->last}}});
  }
}

void generations_rise(const trace_world& world, const trace_step& step, verdicts& out) {
  const granting g = granted_by(step);
  for (std::size_t i = 0; g.blocks != nullptr && i < g.blocks->size(); ++i) {
    const block_ref& ref = (*g.blocks)[i];
    const block_facts* block = facts_of(world, g.id, ref);
    if (block != nullptr && !(block->last < ref.gen))
      out.add({"I4",
               text(ref) + " is granted after generation " + std::to_string(block->last.value),
               {block->granted_at, step.index},
               {ref}});
  }
}

void no_late_write(const trace_world& world, const trace_step& step, verdicts& out) {
  if (const auto* e = std::get_if<piece_landed>(&step.fact); e != nullptr && step.at("lane")) {
    const charge* c = world.find(e->lane.reservation);
    if (c == nullptr || e->block.gen.value == 0)
      return; // the resume state is no block
    std::vector<std::size_t> shown;
    const std::string why = not_held(world, c->id, e->block, shown);
    shown.push_back(step.index);
    if (!why.empty())
      out.add({"I2", "a write to " + text(e->block) + " for " + text(c->id) + " landed: " + why,
               shown, {e->block}});
  }
  if (step.at("source_hold") && step.did("submit_prefill"))
    check_in_place_writer(world, step, out);
}

void no_early_free(const trace_world& world, const trace_step& step, verdicts& out) {
  const charge* c = reclaimed_by(world, step, charge::side::destination);
  if (c == nullptr)
    return;
  const auto early = [&](const std::string& missing, record_at opened) {
    out.add({"I3", text(c->id) + " is reclaimed without " + missing,
             {opened.value_or(c->granted_at), step.index}, c->blocks});
  };
  for (const auto& [id, lane] : c->lanes) {
    if (!lane.opened_at)
      continue;
    const bool may_be_missing = world.sections[lane.section].incomplete();
    if (!lane.quiesced_at && !may_be_missing)
      early(text(id) + "'s receives having quiesced", lane.opened_at);
    if (!lane.stopped_at)
      early("the stop evidence of " + text(id), lane.opened_at);
  }
  for (const reservation_id& id : c->in_place_holds) {
    if (c->mapped)
      break; // each rank's word counts: writers_end_first
    const charge* hold = world.find(id);
    if (hold->submitted_at && !hold->quiesced_at)
      early("the kernels that compute it in place having quiesced", hold->submitted_at);
  }
  if (c->committed_at && !c->quiesced_at)
    early("its readers having quiesced", c->committed_at);
}

void source_kept(const trace_world& world, const trace_step& step, verdicts& out) {
  const charge* c = reclaimed_by(world, step, charge::side::source);
  if (c == nullptr)
    return;
  for (const auto& [id, feed] : c->feeds)
    if (!feed.ended_at)
      out.add({"I14",
               "source hold " + std::to_string(c->id.number) + " is reclaimed while " + text(id)
                 + " may read it: neither receipt nor stop",
               {feed.opened_at, step.index},
               c->blocks});
  if (c->submitted_at && !c->quiesced_at)
    out.add({"I14",
             "source hold " + std::to_string(c->id.number)
               + " is reclaimed while kernels may write it",
             {*c->submitted_at, step.index},
             c->blocks});
}

void conserved(const trace_world& world, const trace_step& step, verdicts& out) {
  if (const granting g = granted_by(step); g.blocks != nullptr) {
    const pool_facts* pool = world.pool_of(g.id);
    if (pool != nullptr && pool->charged_blocks + g.blocks->size() > pool->formed.blocks)
      out.add({"I12",
               "pool " + pool->formed.group.value + " charges "
                 + std::to_string(pool->charged_blocks + g.blocks->size()) + " blocks of "
                 + std::to_string(pool->formed.blocks),
               {pool->formed_at, step.index},
               {}});
  }
  if (const auto* e = std::get_if<reclaim_blocks>(&step.fact); e != nullptr && step.at("pool")) {
    const charge* c = world.find(e->reservation);
    if (c == nullptr && !step.section.incomplete())
      out.add({"I12", text(e->reservation) + " is released but was never charged", {step.index},
               {}});
    if (c != nullptr && c->reclaimed_at)
      out.add({"I12", text(c->id) + " is released a second time",
               {c->granted_at, *c->reclaimed_at, step.index}, {}});
  }
  check_end_is_said_once(world, step, out);
}

} // namespace baton::protocol::invariants
