#include "actors/status_report.hpp"

#include "actors/text_table.hpp"
#include "protocol/path_choice.hpp"

#include <algorithm>

namespace baton::actors {

using namespace protocol;

namespace {

const char* const silent = "does not answer";

std::string with_decimals(double value, int decimals) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string groups_text(const cluster_config& cluster, const cluster_answers& answers) {
  std::vector<row> rows = {
    {"group", "role", "ranks", "blocks", "free", "leased", "live", "quarantined", "slots",
     "waiting", "expired", "link GB/s", "MiB a block"}};
  for (const auto& group : cluster.groups) {
    row r = {group.name.value, to_string(group.role), std::to_string(group.ranks)};
    const auto it = answers.pools.find(group.name);
    if (it == answers.pools.end()) {
      r.resize(rows.front().size() - 1);
      r.push_back(silent);
    } else {
      const pool_status& p = it->second;
      for (const std::uint32_t count :
           {p.blocks, p.free, p.leased, p.live, p.quarantined, p.slots_used, p.waiting})
        r.push_back(std::to_string(count));
      r.push_back(std::to_string(p.leases_expired));
      r.push_back(p.link_bytes_per_s == 0
                    ? "-"
                    : with_decimals(static_cast<double>(p.link_bytes_per_s) / 1e9, 2));
      r.push_back(with_decimals(static_cast<double>(p.block_bytes) / (1 << 20), 3));
    }
    rows.push_back(std::move(r));
  }
  std::vector<side> sides(rows.front().size(), side::right);
  sides[0] = sides[1] = side::left;
  return table_text(sides, rows);
}

std::string nodes_text(const cluster_config& cluster, const cluster_answers& answers) {
  std::vector<row> rows = {{"node", "actors", "bytes landed", "refused", "repeated", "paths"}};
  for (const auto& node : nodes(cluster)) {
    const auto it = answers.nodes.find(node.name);
    if (it == answers.nodes.end()) {
      rows.push_back({node.name.value, "", "", "", "", silent});
      continue;
    }
    const node_status& s = it->second;
    rows.push_back({node.name.value, std::to_string(s.actors_open), std::to_string(s.bytes_landed),
                    std::to_string(s.pieces_refused), std::to_string(s.pieces_repeated),
                    s.paths.empty() ? "-" : s.paths});
  }
  return table_text(
    {side::left, side::right, side::right, side::right, side::right, side::left}, rows);
}

} // namespace

void cluster_answers::take(const node_status& status) {
  nodes[status.node] = status;
  if (status.has_pool)
    take(status.pool);
}

void cluster_answers::take(const pool_status& status) { pools[status.group] = status; }

bool cluster_answers::complete_for(const cluster_config& cluster) const {
  const auto expected = protocol::nodes(cluster);
  return std::all_of(expected.begin(), expected.end(),
                     [&](const auto& node) { return nodes.count(node.name) != 0; })
         && std::all_of(cluster.groups.begin(), cluster.groups.end(),
                        [&](const auto& group) { return pools.count(group.name) != 0; });
}

std::string status_text(const cluster_config& cluster, const cluster_answers& answers) {
  return "cluster " + cluster.name + "\npath " + path_text(cluster) + "\n\n"
         + groups_text(cluster, answers) + "\n" + nodes_text(cluster, answers);
}

json status_json(const cluster_config& cluster, const cluster_answers& answers) {
  json groups = json::array();
  for (const auto& group : cluster.groups) {
    const auto it = answers.pools.find(group.name);
    groups.push_back(it != answers.pools.end()
                       ? to_json(it->second)
                       : json{{"group", group.name.value}, {"silent", true}});
  }
  json all_nodes = json::array();
  for (const auto& node : nodes(cluster)) {
    const auto it = answers.nodes.find(node.name);
    json said = it != answers.nodes.end() ? to_json(it->second)
                                          : json{{"node", node.name.value}, {"silent", true}};
    said.erase("pool"); // groups say it
    said.erase("has_pool");
    all_nodes.push_back(std::move(said));
  }
  json costs = json::array();
  for (const path_cost& cost : cluster.path_costs)
    costs.push_back({{"path", to_string(cost.path)},
                     {"transport", to_string(cost.transport)},
                     {"bytes_per_s", cost.bytes_per_s},
                     {"refused", cost.refused}});
  return {{"cluster", cluster.name},
          {"path", to_string(cluster.path)},
          {"transport", to_string(cluster.transport)},
          {"path_costs", std::move(costs)},
          {"groups", std::move(groups)},
          {"nodes", std::move(all_nodes)}};
}

} // namespace baton::actors
