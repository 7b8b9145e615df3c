// I10, I13: what a router makes of nodes that join, are lost and come back, judged by the lives
// that it was told of.
#include "protocol/invariants.hpp"

#include <algorithm>

namespace baton::protocol::invariants {

namespace {

/// A group's rank that an event is about.
struct told_of {
  const group_name* group = nullptr; ///< null: none that was expected
  const member_facts* members = nullptr;
  incarnation life; ///< that it had until now; zero: it was absent
};

told_of rank_of(const members_facts& members, const node_joined& e) {
  const auto found = members.find(e.group);
  if (found == members.end() || e.rank.value >= found->second.lives.size())
    return {};
  return {&found->first, &found->second, found->second.lives[e.rank.value]};
}

told_of rank_of(const members_facts& members, const node_lost& e) {
  for (const auto& [name, group] : members)
    if (e.life != incarnation{}
        && std::find(group.lives.begin(), group.lives.end(), e.life) != group.lives.end())
      return {&name, &group, e.life};
  return {};
}

std::string text(const incarnation& life) { return "life " + to_string(life).substr(0, 12); }

void check_joined(const trace_step& step, const told_of& rank, const node_joined& e,
                  verdicts& out) {
  const bool replaced = rank.life != incarnation{} && rank.life != e.life;
  if (replaced && !step.did("group_lost"))
    out.add({"I10",
             e.node.value + " is back with " + text(e.life) + ", and nobody is told that "
               + text(rank.life) + " has ended",
             {rank.members->told_at.value_or(step.index), step.index}, {}});
  if (!replaced && step.did("group_lost"))
    out.add({"I10", e.node.value + " joins, and a group is told as lost", {step.index}, {}});
}

void check_lost(const trace_step& step, const told_of& rank, const node_lost& e, verdicts& out) {
  if (rank.group != nullptr && !step.did("group_lost"))
    out.add({"I10",
             e.node.value + " is lost, and nobody is told that " + rank.group->value + " is",
             {rank.members->told_at.value_or(step.index), step.index}, {}});
  if (rank.group == nullptr && step.did("group_lost"))
    out.add({"I10",
             "a group is told as lost because " + text(e.life) + " of " + e.node.value
               + " has ended, which no rank lives any more",
             {step.index}, {}});
}

} // namespace

void losses_are_told(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto members = step.at("membership") && step.section.lost == 0
                         ? world.members.find(step.key.section)
                         : world.members.end();
  if (members == world.members.end())
    return;
  if (const auto* e = std::get_if<node_joined>(&step.fact))
    check_joined(step, rank_of(*members->second, *e), *e, out);
  if (const auto* e = std::get_if<node_lost>(&step.fact))
    check_lost(step, rank_of(*members->second, *e), *e, out);
}

void placed_on_whole_groups(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto* e = step.at("attempt") && step.section.lost == 0
                    ? std::get_if<attempt_placed>(&step.fact)
                    : nullptr;
  const auto placed = e == nullptr ? world.placements.end() : world.placements.find(e->attempt);
  if (placed == world.placements.end())
    return;
  for (const group_name& name : {e->source.group, e->decode_group}) {
    const auto group = placed->second.known->find(name);
    if (group == placed->second.known->end() || !group->second.is_whole())
      out.add({"I13", step.record.actor + " is placed on " + name.value + ", which misses a rank",
               {placed->second.at, step.index}, {}});
    else if (name == e->source.group && group->second.lives != e->source.ranks)
      out.add({"I10",
               step.record.actor + " is placed on lives of " + name.value + " that have ended",
               {group->second.told_at.value_or(placed->second.at), placed->second.at, step.index},
               {}});
  }
}

} // namespace baton::protocol::invariants
