// I2, I3, I7 where ranks of one group write the memory of another's: who is a writer, when it has
// ended, and whose the pages are.
#include "protocol/invariants.hpp"

#include <algorithm>

namespace baton::protocol::invariants {

namespace {

std::string text(const lane_id& id) {
  return "lane " + std::to_string(id.source.value) + "->" + std::to_string(id.destination.value)
         + " of reservation " + std::to_string(id.reservation.number);
}

const rank_memory_facts& rank_of(const trace_world& world, std::uint32_t section) {
  static const rank_memory_facts nothing;
  const auto it = world.ranks.find(section);
  return it == world.ranks.end() ? nothing : it->second;
}

/// True when the lane's rank has heard that nobody writes its blocks in place any more.
bool has_ended(const trace_world& world, const charge& c, const lane_facts& lane) {
  const rank_memory_facts& rank = rank_of(world, lane.section);
  const auto blocks = static_cast<std::ptrdiff_t>(std::min(lane.blocks, c.blocks.size()));
  const auto cut_off = rank.cut_off.find(lane.writer);
  const bool never_let_in
    = cut_off != rank.cut_off.end()
      && (!lane.admitted_turn || *lane.admitted_turn > cut_off->second);
  return lane.stopped_writers.count(lane.writer) > 0 || lane.replaced_at || never_let_in
         || rank.collected.count(lane.writer) > 0
         || std::any_of(c.blocks.begin(), c.blocks.begin() + blocks, [&](const block_ref& ref) {
              return rank.replaced.count(ref.block) > 0;
            });
}

/// A plan that the writer runs and that names the sequence; none where its life left no trace.
std::optional<std::uint64_t> running_plan(const trace_world& world, const incarnation& writer,
                                          const sequence_id& sequence) {
  for (const auto& [section, rank] : world.ranks)
    if (world.sections[section].header.life == writer)
      for (const auto& [number, named] : rank.running)
        if (std::find(named.begin(), named.end(), sequence) != named.end())
          return number;
  return {};
}

void check_unread(const trace_world& world, const trace_step& step, const stop_lane& e,
                  verdicts& out) {
  const charge* c = world.find(e.lane.reservation);
  if (c != nullptr && c->committed_at && !c->quiesced_at)
    out.add({"I7", text(e.lane) + " is told that its blocks are unread while attention reads them",
             {*c->committed_at, step.index}, c->blocks});
}

} // namespace

void writers_end_first(const trace_world& world, const trace_step& step, verdicts& out) {
  if (!step.at("lane"))
    return;
  if (const auto* e = std::get_if<open_lane>(&step.fact)) {
    const charge* c = world.find(e->lane.reservation);
    if (c != nullptr && c->mapped && e->writer == incarnation{})
      out.add({"I3", text(e->lane) + " is written in place and counts no writer",
               {c->granted_at, step.index}, e->blocks});
  }
  const auto* e = std::get_if<receives_quiesced>(&step.fact);
  const lane_facts* lane = e == nullptr ? nullptr : world.lane(e->lane);
  if (lane == nullptr || !lane->opened_at || lane->writer == incarnation{})
    return;
  const charge& c = *world.find(e->lane.reservation);
  if (!has_ended(world, c, *lane) && step.section.lost == 0)
    out.add({"I3", text(e->lane) + " has stopped, and its writer may still write",
             {*lane->opened_at, step.index}, c.blocks});
}

void writers_tell_the_truth(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto* e = std::get_if<writer_stopped>(&step.fact);
  const lane_facts* lane = e == nullptr ? nullptr : world.lane(e->lane);
  const charge* hold
    = lane == nullptr || lane->writer != e->writer ? nullptr : world.find(lane->hold);
  if (hold == nullptr || !hold->submitted_at)
    return;
  const pool_facts* pool = world.pool_of(hold->id);
  const bool asked_alone = pool == nullptr || world.sections[pool->section].incomplete()
                           || world.poisoned_leaders.count(pool->section) > 0;
  if (!hold->quiesced_at && !asked_alone) // a broken group's ranks speak for themselves
    out.add({"I3",
             "the writer of " + text(e->lane) + " says that it has stopped before the kernels of "
               + "source hold " + std::to_string(hold->id.number) + " have quiesced",
             {*hold->submitted_at, step.index}, {}});
  if (const auto plan = running_plan(world, e->writer, hold->sequence))
    out.add({"I3",
             "the writer of " + text(e->lane) + " says that it has stopped and runs step "
               + std::to_string(*plan) + " for it",
             {*hold->submitted_at, step.index}, {}});
}

void all_lanes_are_open(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto* e = std::get_if<lane_opened>(&step.fact);
  const charge* c = e != nullptr && step.at("reservation") ? world.held_by(step) : nullptr;
  if (c == nullptr || !step.did("transfer_opened"))
    return;
  const std::size_t open = c->lanes_open.size() + (c->lanes_open.count(e->lane) == 0 ? 1 : 0);
  if (open < c->lanes_asked)
    out.add({"I3",
             "reservation " + std::to_string(c->id.number) + " opens its transfer with "
               + std::to_string(open) + " lanes of " + std::to_string(c->lanes_asked),
             {c->offered_at.value_or(c->granted_at), step.index}, c->blocks});
}

void fresh_pages_are_nobodys(const trace_world& world, const trace_step& step, verdicts& out) {
  if (const auto* e = std::get_if<stop_lane>(&step.fact); e != nullptr && e->unread)
    check_unread(world, step, *e, out);
  if (const auto* e = std::get_if<pages_replaced>(&step.fact); e != nullptr && !e->error) {
    const lane_facts* lane = world.lane(e->lane);
    if (lane != nullptr && lane->opened_at && !lane->unread_at && step.section.lost == 0)
      out.add({"I7", "the pages of " + text(e->lane) + " are replaced, and nobody has said that "
                       + "they are unread",
               {*lane->opened_at, step.index}, world.find(e->lane.reservation)->blocks});
  }
  const auto* e = std::get_if<piece_landed>(&step.fact);
  const lane_facts* lane = e != nullptr && step.at("lane") ? world.lane(e->lane) : nullptr;
  if (lane == nullptr || lane->writer == incarnation{} || e->block.gen.value == 0)
    return;
  const auto& replaced = rank_of(world, step.key.section).replaced;
  if (const auto it = replaced.find(e->block.block); it != replaced.end())
    out.add({"I7",
             text(e->lane) + " takes block " + std::to_string(e->block.block.value)
               + " as written in place: its pages were replaced, and are no longer shared",
             {it->second, step.index}, {e->block}});
}

} // namespace baton::protocol::invariants
