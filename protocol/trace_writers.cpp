#include "protocol/trace_world.hpp"

#include <algorithm>

namespace baton::protocol {

namespace {

struct writers_applier {
  trace_world& w;
  const trace_step& step;

  void operator()(const open_lane& e) {
    lane_facts* lane = step.at("lane") ? w.lane(e.lane) : nullptr;
    if (lane == nullptr || lane->opened_at != step.index)
      return;
    lane->writer = e.writer;
    lane->hold = e.hold;
    lane->blocks = e.blocks.size();
  }

  void operator()(const lane_admitted& e) {
    lane_facts* lane = step.at("lane") ? w.lane(e.lane) : nullptr;
    if (lane != nullptr && !lane->admitted_turn)
      lane->admitted_turn = w.turn;
  }

  // -- the reservation

  void operator()(const manifest_offered&) {
    charge* c = step.at("reservation") ? w.held_by(step) : nullptr;
    if (c == nullptr || c->lanes_asked > 0)
      return;
    const auto& effects = step.record.effects;
    c->lanes_asked
      = static_cast<std::size_t>(std::count(effects.begin(), effects.end(), open_lane::type));
  }
  void operator()(const lane_opened& e) {
    if (charge* c = step.at("reservation") ? w.held_by(step) : nullptr)
      c->lanes_open.insert(e.lane);
  }
  void operator()(const stop_lane& e) {
    lane_facts* lane = step.at("lane") && e.unread ? w.lane(e.lane) : nullptr;
    if (lane != nullptr && !lane->unread_at)
      lane->unread_at = step.index;
  }

  // -- what a rank hears of its writers

  rank_memory_facts& rank() { return w.ranks[step.key.section]; }

  void operator()(const writer_stopped& e) {
    if (lane_facts* lane = w.lane(e.lane))
      lane->stopped_writers.insert(e.writer);
  }
  void operator()(const process_reaped& e) { rank().collected.insert(e.life); }
  void operator()(const pages_replaced& e) {
    if (e.error)
      return;
    rank().cut_off.emplace(e.writer, w.turn);
    lane_facts* lane = w.lane(e.lane);
    if (lane == nullptr)
      return;
    lane->replaced_at = step.index;
    const auto& blocks = w.find(e.lane.reservation)->blocks;
    for (std::size_t i = 0; i < std::min(lane->blocks, blocks.size()); ++i)
      rank().replaced.emplace(blocks[i].block, step.index);
  }

  // -- what a rank runs

  void operator()(const run_step& e) {
    if (!step.record.machine.empty())
      return;
    auto& named = rank().running[e.step.value];
    for (const auto& slice : e.slices)
      named.push_back(slice.sequence);
  }
  void operator()(const ended_plan& e) { rank().running.erase(e.step.value); }

  template <class Fact>
  void operator()(const Fact&) {}
};

} // namespace

void note_writers(trace_world& world, const trace_step& step) {
  std::visit(writers_applier{world, step}, step.fact);
}

} // namespace baton::protocol
