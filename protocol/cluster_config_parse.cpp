// cluster.json to cluster_config: one function per object of the file.
#include "protocol/cluster_config_check.hpp"
#include "protocol/cluster_words.hpp"
#include "protocol/json_codec.hpp"

#include <limits>

namespace baton::protocol {

namespace {

constexpr std::int64_t bytes_max = std::int64_t{1} << 46; // 64 TiB: more than any host has
constexpr std::size_t path_characters_max = 4096;
constexpr std::uint16_t port_max = 65'535;

kv_config read_kv(json_object from, const kv_config& otherwise) {
  kv_config kv;
  kv.dtype = from.word("dtype", dtype_words, std::optional(otherwise.dtype));
  kv.block_tokens = from.number<std::uint32_t>("block_tokens", {1, limits::block_tokens_max},
                                               otherwise.block_tokens);
  from.finish();
  return kv;
}

synthetic_executor read_synthetic(json_object& from) {
  synthetic_executor e;
  const auto positive = [&from](const char* name, std::int64_t max, std::uint32_t& value) {
    value = from.number<std::uint32_t>(name, {1, max}, value);
  };
  positive("layers", 1'024, e.layers);
  positive("kv_heads", 1'024, e.kv_heads);
  positive("heads", 1'024, e.heads);
  positive("head_dim", 1'024, e.head_dim);
  positive("hidden", 131'072, e.hidden);
  positive("vocab", limits::packed_floats_max, e.vocab);
  positive("max_positions", 1 << 20, e.max_positions);
  constexpr integer_range up_to_ten_seconds{0, 10'000'000};
  e.prefill_us_per_token
    = from.number<std::uint32_t>("prefill_us_per_token", up_to_ten_seconds, 0);
  e.decode_us_per_step = from.number<std::uint32_t>("decode_us_per_step", up_to_ten_seconds, 0);
  if (e.heads % e.kv_heads != 0)
    from.refuse("heads", "expected a multiple of kv_heads " + std::to_string(e.kv_heads)
                           + ", got " + std::to_string(e.heads));
  return e;
}

executor_config read_executor(json_object from) {
  enum class kind : std::uint8_t { llama, synthetic };
  constexpr json_word<kind> kinds[] = {{"llama", kind::llama}, {"synthetic", kind::synthetic}};
  executor_config executor;
  if (from.word("kind", kinds) == kind::llama) {
    llama_executor e;
    e.model = from.text("model", path_characters_max);
    e.threads = from.number<std::uint32_t>("threads", {1, 256}, 1);
    executor = e;
  } else {
    executor = read_synthetic(from);
  }
  from.finish();
  return executor;
}

pool_size read_pool(json_object& from) {
  from.exclusive({"pool_blocks", "pool_bytes"}, json_object::presence::one_required);
  if (from.has("pool_bytes"))
    return pool_bytes{from.bytes("pool_bytes", {1, bytes_max}, 1)};
  return pool_blocks{
    from.number<std::uint32_t>("pool_blocks", {1, limits::pool_blocks_max}, 1)};
}

std::uint16_t read_ranks(json_object& from) {
  using any = std::numeric_limits<std::int64_t>;
  const std::int64_t ranks = from.integer("ranks", {any::min(), any::max()}, 1);
  if (ranks == 1 || ranks == 2 || ranks == 4)
    return static_cast<std::uint16_t>(ranks);
  from.refuse("ranks", "expected 1, 2 or 4, got " + std::to_string(ranks));
  return 1;
}

group_config read_group(json_object& from, const cluster_config& cluster) {
  group_config group;
  group.name = {from.name("name")};
  group.role = from.word("role", role_words);
  group.ranks = read_ranks(from);
  group.pool = read_pool(from);
  constexpr integer_range slots{1, limits::decode_slots_max};
  constexpr integer_range chunk{1, limits::prefill_chunk_tokens_max};
  const auto decode_slots
    = from.number<std::uint32_t>("decode_slots", slots, limits::decode_slots_default);
  const auto chunk_tokens = from.number<std::uint32_t>("prefill_chunk_tokens", chunk,
                                                       limits::prefill_chunk_tokens_default);
  if (group.role != group_role::prefill)
    group.decode_slots = decode_slots;
  else if (from.has("decode_slots"))
    from.refuse("decode_slots", "a prefill group has none");
  if (group.role != group_role::decode)
    group.prefill_chunk_tokens = chunk_tokens;
  else if (from.has("prefill_chunk_tokens"))
    from.refuse("prefill_chunk_tokens", "a decode group has none");
  const auto quarantine
    = from.number<std::uint32_t>("quarantine_blocks", {1, limits::pool_blocks_max}, 1);
  if (from.has("quarantine_blocks"))
    group.quarantine_blocks = quarantine;
  group.kv = read_kv(from.object("kv"), cluster.kv);
  if (from.has("executor"))
    group.executor = read_executor(from.object("executor"));
  else if (cluster.executor)
    group.executor = *cluster.executor;
  else
    from.refuse("executor", "missing, and the cluster has none");
  check_group(group, from);
  return group;
}

lease_config read_lease(json_object from) {
  lease_config lease;
  lease.ms_min = from.integer("ms_min", {1, limits::lease_ms_max}, lease.ms_min);
  lease.ms_max = from.integer("ms_max", {1, limits::lease_ms_max}, lease.ms_max);
  lease.assumed_bytes_per_s
    = from.bytes("assumed_bytes_per_s", {1, bytes_max}, lease.assumed_bytes_per_s);
  if (lease.ms_min > lease.ms_max)
    from.refuse("ms_min", "expected at most ms_max " + std::to_string(lease.ms_max) + ", got "
                            + std::to_string(lease.ms_min));
  from.finish();
  return lease;
}

costs_config read_costs(json_object from) {
  costs_config costs;
  costs.prefill_us_per_token = from.integer(
    "prefill_us_per_token", {1, limits::cost_us_per_token_max}, costs.prefill_us_per_token);
  costs.decode_us_per_token = from.integer(
    "decode_us_per_token", {1, limits::cost_us_per_token_max}, costs.decode_us_per_token);
  from.finish();
  return costs;
}

tenant_config read_tenant(json_object& from) {
  tenant_config tenant;
  tenant.name = {from.name("name")};
  tenant.requests_open_max = from.number<std::uint32_t>(
    "requests_open_max", {1, limits::requests_open_max}, tenant.requests_open_max);
  tenant.tokens_per_request_max = from.number<std::uint32_t>(
    "tokens_per_request_max", {1, tenant.tokens_per_request_max}, tenant.tokens_per_request_max);
  return tenant;
}

port_plan read_ports(json_object from) {
  if (from.has("base") || from.empty()) {
    const ports_from_base plan{from.number<std::uint16_t>("base", {0, port_max}, 0)};
    from.finish();
    return plan;
  }
  ports_by_node plan;
  for (const std::string& name : from.names())
    plan.ports.emplace_back(node_name{name},
                            from.number<std::uint16_t>(name.c_str(), {0, port_max}));
  return plan;
}

path_cost read_cost(json_object& from) {
  path_cost cost;
  cost.path = from.word("path", path_words);
  cost.transport = from.word("transport", transport_words, std::optional(cost.transport));
  cost.bytes_per_s = from.bytes("bytes_per_s", {0, bytes_max}, 0);
  cost.refused = from.text("refused", path_characters_max, "");
  return cost;
}

void read_path(json_object& from, cluster_config& c) {
  const asked_path asked = from.word("path", asked_path_words, std::optional(asked_path::pull));
  c.measures_path = asked == asked_path::measured;
  if (!c.measures_path)
    c.path = static_cast<hand_off_path>(asked);
  if (from.has("prefer"))
    c.prefer = from.word("prefer", preferred_path_words);
  c.transport = from.word("transport", transport_words, std::optional(c.transport));
  from.each("path_costs", limits::path_costs_max,
            [&](json_object& cost) { c.path_costs.push_back(read_cost(cost)); });
  if (c.prefer && !c.measures_path && c.path_costs.empty())
    from.refuse("prefer", "expected only where path is measured; a path by name is required");
}

cluster_config read_cluster(json_object& from) {
  cluster_config c;
  c.name = from.name("name");
  c.host = from.text("host", limits::name_characters_max, c.host);
  c.ports = read_ports(from.object("ports"));
  read_path(from, c);
  c.integrity = from.word("integrity", integrity_words, std::optional(c.integrity));
  c.kv = read_kv(from.object("kv"), c.kv);
  json_object executor = from.object("executor");
  if (from.has("executor"))
    c.executor = read_executor(executor);
  from.each("groups", limits::groups_max,
            [&](json_object& group) { c.groups.push_back(read_group(group, c)); });
  c.lease = read_lease(from.object("lease"));
  c.costs = read_costs(from.object("costs"));
  c.retention_ms = from.integer("retention_ms", {0, limits::retention_ms_max}, 0);
  c.inflight_bytes = from.bytes("inflight_bytes", {1, bytes_max}, c.inflight_bytes);
  c.offer_window_bytes = from.bytes("offer_window_bytes", {1, bytes_max}, c.offer_window_bytes);
  c.heartbeat_ms = from.integer("heartbeat_ms", {1, limits::peer_timeout_ms_max}, c.heartbeat_ms);
  c.peer_timeout_ms
    = from.integer("peer_timeout_ms", {1, limits::peer_timeout_ms_max}, c.peer_timeout_ms);
  c.allow_faults = from.value("allow_faults", false);
  from.each("tenants", limits::requests_open_max,
            [&](json_object& tenant) { c.tenants.push_back(read_tenant(tenant)); });
  if (c.tenants.empty() && !from.has("tenants"))
    c.tenants.push_back({{"default"}, limits::tenant_requests_open_default,
                         limits::prompt_tokens_max + limits::output_tokens_max});
  c.trace = from.value("trace", true);
  from.finish();
  return c;
}

} // namespace

outcome<cluster_config> parse_cluster(const std::string& text, const std::string& file_name,
                                      std::set<std::string>* known_fields) {
  json_reading reading(file_name, known_fields);
  const json file = reading.parse(text, limits::cluster_file_bytes_max);
  if (reading.refused())
    return reading.error();
  json_object whole(reading, file, "");
  cluster_config config = read_cluster(whole);
  if (!reading.refused())
    check_cluster(config, reading);
  if (reading.refused())
    return reading.error();
  return config;
}

} // namespace baton::protocol
