#include "protocol/cluster_config.hpp"

#include "protocol/assert.hpp"
#include "protocol/cluster_words.hpp"

#include <algorithm>

namespace baton::protocol {

const char* to_string(hand_off_path p) { return word_of(path_words, p); }
const char* to_string(ucx_transport t) { return word_of(transport_words, t); }
const char* to_string(integrity_check c) { return word_of(integrity_words, c); }
const char* to_string(kv_dtype t) { return word_of(dtype_words, t); }
const char* to_string(group_role r) { return word_of(role_words, r); }

node_name node_of(const group_name& group, rank_id rank) {
  return {group.value + "." + std::to_string(rank.value)};
}

std::vector<cluster_node> nodes(const cluster_config& config) {
  std::vector<cluster_node> all{{node_name{"router"}, {}, {}, 0}};
  for (const group_config& group : config.groups)
    for (std::uint16_t rank = 0; rank < group.ranks; ++rank)
      all.push_back({node_of(group.name, {rank}), group.name, {rank}, 0});
  if (const auto* from = std::get_if<ports_from_base>(&config.ports)) {
    for (std::size_t i = 0; i < all.size() && from->base != 0; ++i)
      all[i].port = static_cast<std::uint16_t>(from->base + i);
  } else {
    for (const auto& [name, port] : std::get<ports_by_node>(config.ports).ports)
      for (cluster_node& node : all)
        if (node.name == name)
          node.port = port;
  }
  return all;
}

const group_config* find_group(const cluster_config& config, const group_name& name) {
  const auto found = std::find_if(config.groups.begin(), config.groups.end(),
                                  [&](const group_config& g) { return g.name == name; });
  return found == config.groups.end() ? nullptr : &*found;
}

const tenant_config* find_tenant(const cluster_config& config, const tenant_name& name) {
  const auto found = std::find_if(config.tenants.begin(), config.tenants.end(),
                                  [&](const tenant_config& t) { return t.name == name; });
  return found == config.tenants.end() ? nullptr : &*found;
}

std::uint32_t blocks_of_pool(const pool_size& pool, std::uint64_t block_bytes) {
  BATON_ASSERT(block_bytes > 0);
  if (const auto* given = std::get_if<pool_blocks>(&pool))
    return given->blocks;
  const std::uint64_t blocks = std::get<pool_bytes>(pool).bytes / block_bytes;
  return static_cast<std::uint32_t>(
    std::min<std::uint64_t>(blocks, limits::pool_blocks_max));
}

std::uint32_t quarantine_blocks_of(const group_config& group, std::uint32_t pool) {
  if (group.quarantine_blocks)
    return std::min(*group.quarantine_blocks, pool);
  const std::uint64_t share = std::uint64_t{pool} * limits::quarantine_percent_max / 100;
  return std::max(std::uint32_t{1}, static_cast<std::uint32_t>(share));
}

} // namespace baton::protocol
