#include "protocol/cluster_config_check.hpp"

#include "protocol/cost_model.hpp"

#include <sstream>

namespace baton::protocol {

namespace {

std::string element(const char* list, std::size_t i, const char* member) {
  return std::string(list) + "[" + std::to_string(i) + "]." + member;
}

void check_names(const cluster_config& config, json_reading& reading) {
  std::set<std::string> seen{"router"};
  for (std::size_t i = 0; i < config.groups.size(); ++i)
    if (!seen.insert(config.groups[i].name.value).second)
      reading.refuse(element("groups", i, "name"),
                     "\"" + config.groups[i].name.value + "\" is taken");
  std::set<std::string> tenants;
  for (std::size_t i = 0; i < config.tenants.size(); ++i)
    if (!tenants.insert(config.tenants[i].name.value).second)
      reading.refuse(element("tenants", i, "name"),
                     "\"" + config.tenants[i].name.value + "\" is taken");
}

void check_roles(const cluster_config& config, json_reading& reading) {
  bool prefills = false;
  bool decodes = false;
  for (const group_config& group : config.groups) {
    prefills = prefills || group.role != group_role::decode;
    decodes = decodes || group.role != group_role::prefill;
  }
  if (!prefills)
    reading.refuse("groups", "expected at least one prefill or mixed group");
  if (!decodes)
    reading.refuse("groups", "expected at least one decode or mixed group");
}

void check_ports(const cluster_config& config, json_reading& reading) {
  const std::vector<cluster_node> all = nodes(config);
  if (const auto* from = std::get_if<ports_from_base>(&config.ports)) {
    if (from->base != 0 && from->base + all.size() - 1 > 65'535)
      reading.refuse("ports.base", "expected room for " + std::to_string(all.size())
                                     + " ports up to 65535, got " + std::to_string(from->base));
    return;
  }
  std::vector<std::string> names;
  for (const cluster_node& node : all)
    names.push_back(node.name.value);
  std::set<std::uint16_t> taken;
  for (const auto& [name, port] : std::get<ports_by_node>(config.ports).ports) {
    const std::string near = nearest_name(name.value, names);
    if (near != name.value)
      reading.refuse("ports." + name.value,
                     near.empty() ? "no such node" : "no such node; did you mean " + near + "?");
    if (port != 0 && !taken.insert(port).second)
      reading.refuse("ports." + name.value, "port " + std::to_string(port) + " is taken");
  }
}

void check_ranks(const synthetic_executor& e, const group_config& group, json_object& from) {
  if (e.kv_heads % group.ranks != 0)
    from.refuse("ranks", std::to_string(e.kv_heads) + " KV heads cannot be divided among "
                           + std::to_string(group.ranks) + " ranks");
}

/// Both groups' blocks must be the same bytes, for one writes where the other reads. What only the
/// model files tell is compared by the manifest, before anything is computed.
void check_layouts(const group_config& one, const group_config& other, std::size_t i,
                   json_reading& reading) {
  const auto must_equal = [&](const char* member, const auto& need, const auto& got) {
    if (need == got)
      return;
    std::ostringstream text;
    text << "path in_place needs the layout of group " << one.name.value << ": expected " << need
         << ", got " << got;
    reading.refuse(element("groups", i, member), text.str());
  };
  must_equal("ranks", one.ranks, other.ranks);
  must_equal("kv.dtype", std::string(to_string(one.kv.dtype)),
             std::string(to_string(other.kv.dtype)));
  must_equal("kv.block_tokens", one.kv.block_tokens, other.kv.block_tokens);
  const auto* a = std::get_if<synthetic_executor>(&one.executor);
  const auto* b = std::get_if<synthetic_executor>(&other.executor);
  if (a != nullptr && b != nullptr) {
    must_equal("executor.layers", a->layers, b->layers);
    must_equal("executor.kv_heads", a->kv_heads, b->kv_heads);
    must_equal("executor.head_dim", a->head_dim, b->head_dim);
    must_equal("executor.hidden", a->hidden, b->hidden);
  } else if (a != nullptr || b != nullptr) {
    must_equal("executor.kind", a != nullptr ? "synthetic" : "llama",
               b != nullptr ? "synthetic" : "llama");
  } else {
    must_equal("executor.model", std::get<llama_executor>(one.executor).model,
               std::get<llama_executor>(other.executor).model);
  }
}

void check_in_place(const cluster_config& config, json_reading& reading) {
  if (config.path != hand_off_path::in_place)
    return;
  const auto& groups = config.groups;
  const bool a_pair = groups.size() == 2 && groups[0].role != groups[1].role
                      && groups[0].role != group_role::mixed
                      && groups[1].role != group_role::mixed;
  if (!a_pair) {
    reading.refuse("groups", "path in_place joins one prefill and one decode group");
    return;
  }
  check_layouts(groups[0], groups[1], 1, reading);
}

} // namespace

std::string cannot_take(cluster_config config, hand_off_path path) {
  config.path = path;
  json_reading reading("the cluster file");
  check_in_place(config, reading);
  return reading.refused() ? reading.error().text : "";
}

std::string wrong_pool(const pool_size& pool, std::uint64_t block_bytes) {
  const auto* given = std::get_if<pool_bytes>(&pool);
  if (given == nullptr)
    return "";
  const std::uint64_t blocks = given->bytes / block_bytes;
  const std::string got
    = " of " + std::to_string(block_bytes) + " bytes, got " + std::to_string(given->bytes);
  if (blocks == 0)
    return "expected at least one block" + got;
  if (blocks > limits::pool_blocks_max)
    return "expected at most " + std::to_string(limits::pool_blocks_max) + " blocks" + got
           + ", which are " + std::to_string(blocks);
  return "";
}

void check_group(const group_config& group, json_object& from) {
  std::uint32_t blocks = 0; // 0: known only when the model has been read
  if (const auto* given = std::get_if<pool_blocks>(&group.pool))
    blocks = given->blocks;
  if (const auto* e = std::get_if<synthetic_executor>(&group.executor)) {
    check_ranks(*e, group, from);
    const std::uint32_t element_bytes = group.kv.dtype == kv_dtype::f32 ? 4 : 2;
    const std::uint64_t block_bytes
      = bytes_per_token({e->layers, e->kv_heads, e->head_dim, group.kv.block_tokens,
                         element_bytes})
        * group.kv.block_tokens;
    blocks = blocks_of_pool(group.pool, block_bytes);
    if (const std::string why = wrong_pool(group.pool, block_bytes); !why.empty())
      from.refuse("pool_bytes", why);
  }
  if (blocks != 0 && group.quarantine_blocks && *group.quarantine_blocks > blocks)
    from.refuse("quarantine_blocks", "expected at most the pool's " + std::to_string(blocks)
                                       + " blocks, got "
                                       + std::to_string(*group.quarantine_blocks));
}

void check_cluster(const cluster_config& config, json_reading& reading) {
  check_names(config, reading);
  check_roles(config, reading);
  check_ports(config, reading);
  check_in_place(config, reading);
  if (config.path == hand_off_path::loopback && config.transport != ucx_transport::any)
    reading.refuse("transport", "path loopback uses none; expected any");
  if (config.tenants.empty())
    reading.refuse("tenants", "expected at least one tenant");
  if (config.peer_timeout_ms < 2 * config.heartbeat_ms)
    reading.refuse("peer_timeout_ms",
                   "expected at least two heartbeats (" + std::to_string(2 * config.heartbeat_ms)
                     + " ms), got " + std::to_string(config.peer_timeout_ms));
  if (config.offer_window_bytes > config.inflight_bytes)
    reading.refuse("offer_window_bytes",
                   "expected at most inflight_bytes " + std::to_string(config.inflight_bytes)
                     + ", got " + std::to_string(config.offer_window_bytes));
}

} // namespace baton::protocol
