#include "protocol/cluster_words.hpp"
#include "protocol/json_codec.hpp"

namespace baton::protocol {

namespace {

json written(const kv_config& kv) {
  return {{"dtype", to_string(kv.dtype)}, {"block_tokens", kv.block_tokens}};
}

json written(const executor_config& executor) {
  json form = to_json(executor);
  form["kind"] = form["type"];
  form.erase("type");
  return form;
}

json written(const port_plan& plan) {
  if (const auto* from = std::get_if<ports_from_base>(&plan))
    return {{"base", from->base}};
  json ports = json::object();
  for (const auto& [name, port] : std::get<ports_by_node>(plan).ports)
    ports[name.value] = port;
  return ports;
}

json written(const group_config& group) {
  json form = {{"name", group.name.value},
               {"role", to_string(group.role)},
               {"ranks", group.ranks},
               {"executor", written(group.executor)},
               {"kv", written(group.kv)}};
  if (const auto* blocks = std::get_if<pool_blocks>(&group.pool))
    form["pool_blocks"] = blocks->blocks;
  else
    form["pool_bytes"] = std::get<pool_bytes>(group.pool).bytes;
  if (group.role != group_role::prefill)
    form["decode_slots"] = group.decode_slots;
  if (group.role != group_role::decode)
    form["prefill_chunk_tokens"] = group.prefill_chunk_tokens;
  if (group.quarantine_blocks)
    form["quarantine_blocks"] = *group.quarantine_blocks;
  return form;
}

json written(const path_cost& cost) {
  json form = {{"path", to_string(cost.path)},
               {"transport", to_string(cost.transport)},
               {"bytes_per_s", cost.bytes_per_s}};
  if (!cost.refused.empty())
    form["refused"] = cost.refused;
  return form;
}

} // namespace

std::string resolved(const cluster_config& config) {
  json form = {{"name", config.name},
               {"host", config.host},
               {"ports", written(config.ports)},
               {"path", config.measures_path ? "measured" : to_string(config.path)},
               {"transport", to_string(config.transport)},
               {"integrity", to_string(config.integrity)},
               {"kv", written(config.kv)},
               {"lease", to_json(config.lease)},
               {"costs", to_json(config.costs)},
               {"retention_ms", config.retention_ms},
               {"inflight_bytes", config.inflight_bytes},
               {"offer_window_bytes", config.offer_window_bytes},
               {"heartbeat_ms", config.heartbeat_ms},
               {"peer_timeout_ms", config.peer_timeout_ms},
               {"allow_faults", config.allow_faults},
               {"tenants", to_json(config.tenants)},
               {"trace", config.trace}};
  if (config.prefer)
    form["prefer"] = to_string(*config.prefer);
  for (const path_cost& cost : config.path_costs)
    form["path_costs"].push_back(written(cost));
  if (config.executor)
    form["executor"] = written(*config.executor);
  for (const group_config& group : config.groups)
    form["groups"].push_back(written(group));
  return form.dump(2, ' ', false, json::error_handler_t::replace);
}

} // namespace baton::protocol
