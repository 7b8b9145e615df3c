// `baton up` with "path": "measured": each path that the cluster can take is tried between two
// processes of this machine, by the product's own endpoints, and the cheapest or preferred one is
// taken.
#pragma once

#include "protocol/cluster_config.hpp"
#include "protocol/outcome.hpp"

namespace baton::actors {

/// The configuration with path, transport and path_costs filled in; unchanged where a path was
/// named. Takes about half a second for each path. unsupported when none can be taken, with each
/// one's reason.
protocol::outcome<protocol::cluster_config> with_measured_path(protocol::cluster_config cluster);

} // namespace baton::actors
