// What a cluster file must satisfy beyond each field's own range.
#pragma once

#include "protocol/cluster_config.hpp"
#include "protocol/json_object.hpp"

namespace baton::protocol {

/// Refuses, at the group's own fields, what cannot work inside one group: ranks that do not divide
/// the heads, a pool of bytes smaller than one block, a quarantine larger than the pool.
void check_group(const group_config& group, json_object& from);

/// Refuses what concerns several objects: repeated names, missing roles, ports, time bounds.
void check_cluster(const cluster_config& config, json_reading& reading);

} // namespace baton::protocol
