// The answers of a cluster to ask_status, for people and for programs. Pure.
#pragma once

#include "actors/status_messages.hpp"
#include "protocol/cluster_config.hpp"
#include "protocol/json_codec.hpp"

#include <map>
#include <string>

namespace baton::actors {

/// Who has answered, by name; a pool answers for its whole group.
struct cluster_answers {
  std::map<protocol::node_name, protocol::node_status> nodes;
  std::map<protocol::group_name, protocol::pool_status> pools;

  void take(const protocol::node_status& status);
  void take(const protocol::pool_status& status);
  /// Every node of the cluster and every group's pool is in it.
  bool complete_for(const protocol::cluster_config& cluster) const;
};

/// A table of groups and one of nodes, in the order of the cluster file; who is silent is said so.
std::string status_text(const protocol::cluster_config& cluster, const cluster_answers& answers);

/// {"cluster", "groups": [pool_status or {"group", "silent"}], "nodes": [...]}, in the same order.
protocol::json status_json(const protocol::cluster_config& cluster,
                           const cluster_answers& answers);

} // namespace baton::actors
