#include "actors/client_pools.hpp"

namespace baton::actors {

using namespace protocol;

namespace {

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const auto& part : parts)
    text += (text.empty() ? "" : between) + part;
  return text;
}

std::string free_of(const pool_status& p) {
  return p.group.value + " " + std::to_string(p.free) + "/" + std::to_string(p.blocks) + " blocks";
}

/// Empty when nothing is held.
std::string held_in(const pool_status& p) {
  std::vector<std::string> held;
  const auto add = [&held](std::uint32_t count, const char* what) {
    if (count > 0)
      held.push_back(std::to_string(count) + " " + what);
  };
  add(p.leased, "leased");
  add(p.live, "live");
  add(p.quarantined, "quarantined");
  add(p.slots_used, "slots used");
  add(p.waiting, "waiting");
  if (held.empty() && p.free == p.blocks)
    return {};
  return free_of(p) + " free" + (held.empty() ? "" : " (" + joined(held, ", ") + ")");
}

} // namespace

pools_watch::pools_watch(const cluster_config& cluster) {
  for (const auto& node : nodes(cluster))
    nodes_.push_back(node.name);
  for (const auto& group : cluster.groups)
    groups_.push_back(group.name);
  begin_round();
}

void pools_watch::begin_round() {
  if (!now_.by_node.empty() && complete())
    last_round_ = std::move(now_);
  now_ = {};
  silence_ = false;
  unheard_nodes_ = {nodes_.begin(), nodes_.end()};
  unheard_groups_ = {groups_.begin(), groups_.end()};
}

void pools_watch::answered(const node_status& status) {
  unheard_nodes_.erase(status.node);
  now_.by_node[status.node] = status;
  if (status.has_pool)
    answered(status.pool);
}

void pools_watch::answered(const pool_status& status) {
  unheard_groups_.erase(status.group);
  now_.by_group[status.group] = status;
}

const pools_watch::answers& pools_watch::known() const {
  return complete() || silence_ || !last_round_ ? now_ : *last_round_;
}

std::string pools_watch::pools() const {
  std::vector<std::string> parts;
  for (const auto& group : groups_) {
    const auto it = known().by_group.find(group);
    if (it != known().by_group.end())
      parts.push_back(free_of(it->second));
  }
  return joined(parts, ", ");
}

std::vector<std::string> pools_watch::left_over() const {
  std::vector<std::string> left;
  for (const auto& [group, pool] : known().by_group) {
    const std::string held = held_in(pool);
    if (!held.empty())
      left.push_back(held);
  }
  for (const auto& [node, status] : known().by_node)
    if (status.actors_open != 0)
      left.push_back(node.value + " has " + std::to_string(status.actors_open) + " actors");
  if (&known() != &now_)
    return left;
  for (const auto& node : unheard_nodes_)
    left.push_back(node.value + " does not answer");
  for (const auto& group : unheard_groups_)
    left.push_back("the pool of " + group.value + " does not answer");
  return left;
}

std::string pools_watch::describe() const {
  const auto left = left_over();
  if (left.empty())
    return "pools: free = capacity (" + pools() + "), no actor left";
  return "pools: not everything is back: " + joined(left, "; ");
}

} // namespace baton::actors
