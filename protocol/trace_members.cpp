#include "protocol/limits.hpp"
#include "protocol/trace_world.hpp"

#include <algorithm>

namespace baton::protocol {

namespace {

struct members_applier {
  trace_world& w;
  const trace_step& step;

  void operator()(const expect_cluster& e) {
    auto& members = w.members[step.key.section];
    if (members != nullptr)
      return; // expected already
    members = std::make_shared<members_facts>();
    for (const auto& g : e.groups)
      (*members)[g.name].lives.resize(std::min(g.ranks, limits::ranks_per_group_max));
  }
  void operator()(const node_joined& e) {
    members_facts* members = about_to_change();
    if (members == nullptr)
      return;
    const auto group = members->find(e.group);
    if (group == members->end() || e.rank.value >= group->second.lives.size())
      return; // not of this cluster
    group->second.lives[e.rank.value] = e.life;
    group->second.told_at = step.index;
  }
  void operator()(const node_lost& e) {
    if (members_facts* members = about_to_change())
      for (auto& [name, group] : *members)
        for (incarnation& life : group.lives)
          if (life == e.life) {
            life = {};
            group.told_at = step.index;
          }
  }
  void operator()(const place_attempt& e) {
    const auto members = w.members.find(step.key.section);
    if (members != w.members.end() && step.did("attempt_placed")) // asked again: answered as before
      w.placements.try_emplace(e.attempt, placement_facts{step.index, members->second});
  }
  void operator()(const attempt_drained& e) { w.placements.erase(e.attempt); }
  template <class Fact>
  void operator()(const Fact&) {}

  /// Placements keep what was known when they were made.
  members_facts* about_to_change() {
    const auto members = w.members.find(step.key.section);
    if (members == w.members.end())
      return nullptr;
    if (members->second.use_count() > 1)
      members->second = std::make_shared<members_facts>(*members->second);
    return members->second.get();
  }
};

} // namespace

bool member_facts::is_whole() const {
  return std::find(lives.begin(), lives.end(), incarnation{}) == lives.end();
}

void note_members(trace_world& world, const trace_step& step) {
  if (step.at("membership"))
    std::visit(members_applier{world, step}, step.fact);
}

} // namespace baton::protocol
