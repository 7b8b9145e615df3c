// What a cluster file must satisfy beyond each field's own range.
#pragma once

#include "protocol/cluster_config.hpp"
#include "protocol/json_object.hpp"

namespace baton::protocol {

/// Refuses, at the group's own fields, what cannot work inside one group: ranks that do not divide
/// the heads, a pool of bytes with no block or too many, a quarantine larger than the pool.
void check_group(const group_config& group, json_object& from);

/// Why a pool of bytes cannot be made of blocks of so many bytes (all ranks): it has none, or more
/// than pool_blocks_max. "" if it can, and for a pool of blocks.
std::string wrong_pool(const pool_size& pool, std::uint64_t block_bytes);

/// "", or why the cluster cannot take a path that it has not named.
std::string cannot_take(cluster_config config, hand_off_path path);

/// Refuses what concerns several objects: repeated names, missing roles, ports, time bounds.
void check_cluster(const cluster_config& config, json_reading& reading);

} // namespace baton::protocol
