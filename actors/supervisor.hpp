// Starts the node processes of this host, passes their lines on, and stops them.
#pragma once

#include "protocol/cluster_config.hpp"

#include <string>

namespace baton::actors {

enum class supervision : std::uint8_t {
  attached, ///< lines go on for as long as the cluster runs
  detached  ///< `out` is closed once the cluster has formed; later lines go to DIR/up.log
};

/// One line a node to the descriptor `out`, ending with "cluster formed ...". Returns after SIGINT,
/// SIGTERM or SIGHUP (unless that is ignored, as under nohup), when every node has ended: 0; or 1
/// when a node ended by itself before the cluster formed. A node that ends later is reported, and
/// the others go on.
int supervise(const std::string& dir, const protocol::cluster_config& cluster, int out,
              supervision how);

} // namespace baton::actors
