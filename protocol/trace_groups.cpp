#include "protocol/limits.hpp"
#include "protocol/trace_world.hpp"

#include <algorithm>
#include <limits>

namespace baton::protocol {

namespace {

std::size_t rank_of_node(const std::string& node) {
  const std::size_t dot = node.rfind('.');
  std::size_t rank = 0;
  for (std::size_t i = dot + 1; dot != std::string::npos && i < node.size(); ++i)
    rank = rank * 10 + static_cast<std::size_t>(node[i] - '0');
  return std::min(rank, std::size_t{limits::ranks_per_group_max});
}

struct group_applier {
  trace_world& w;
  const trace_step& step;

  /// A rank is given a plan.
  void operator()(const run_step& e) {
    if (!step.record.machine.empty())
      return;
    const std::size_t rank = rank_of_node(step.section.header.node.value);
    for (const auto& slice : e.slices) {
      auto& by_rank = w.groups[step.sender_section.value_or(no_section)].planned[slice.sequence];
      by_rank.resize(std::max(by_rank.size(), rank + 1));
      by_rank[rank] = {e.step.value, step.index};
    }
  }
  void operator()(const step_completed& e) { ended(e.rank, e.step.value); }
  void operator()(const step_failed& e) { ended(e.rank, e.step.value); }
  void operator()(const rank_lost& e) {
    if (e.dead)
      ended(e.rank, std::numeric_limits<std::uint64_t>::max()); // its kernels have gone with it
    if (step.at("rank_group"))
      w.groups[step.key.section].lost_at = step.index;
  }
  void ended(const rank_id& rank, std::uint64_t step_number) {
    if (!step.at("rank_group"))
      return;
    auto& by_rank = w.groups[step.key.section].ended;
    by_rank.resize(std::max<std::size_t>(by_rank.size(), rank.value + std::size_t{1}));
    by_rank[rank.value] = std::max(by_rank[rank.value], step_number);
  }

  void operator()(const sequence_quiesced& e) {
    const auto group = w.groups.find(step.sender_section.value_or(no_section));
    if (group == w.groups.end())
      return;
    group->second.planned.erase(e.sequence);
    group->second.quiesced_at.emplace(e.sequence, step.index);
  }
  template <class Fact>
  void operator()(const Fact&) {}
};

} // namespace

void note_group(trace_world& world, const trace_step& step) {
  std::visit(group_applier{world, step}, step.fact);
}

} // namespace baton::protocol
