#include "actors/node_host.hpp"

#include "actors/device_messages.hpp"
#include "actors/shell.hpp"
#include "protocol/membership.hpp"
#include "protocol/rank_group.hpp"

#include <algorithm>
#include <caf/io/middleman.hpp>
#include <chrono>
#include <random>

namespace baton::actors {

using namespace protocol;

namespace {

incarnation random_life() {
  std::random_device draw;
  return {(std::uint64_t{draw()} << 32) | draw(), (std::uint64_t{draw()} << 32) | draw()};
}

/// For people reading a trace; no decision uses it.
std::int64_t unix_ms() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

outcome<std::unique_ptr<trace_recorder>> open_trace(const node_context& node,
                                                    const std::string& dir) {
  trace_header header;
  header.node = node.name;
  header.life = node.life;
  header.cluster = node.cluster.name;
  header.opened_unix_ms = unix_ms();
  return trace_recorder::open(dir + "/" + node.name.value + ".trace.jsonl", header);
}

expect_cluster expectation(const cluster_config& cluster) {
  expect_cluster e;
  for (const auto& g : cluster.groups)
    e.groups.push_back({g.name, g.role, g.ranks});
  for (const auto& t : cluster.tenants)
    e.tenants.push_back({t.name, t.requests_open_max, t.tokens_per_request_max});
  e.requests_open_max = limits::requests_open_max;
  return e;
}

/// The longest chunk of any group, so that no transfer is thought to begin too early.
std::uint32_t longest_chunk(const cluster_config& cluster) {
  std::uint32_t tokens = 0;
  for (const auto& g : cluster.groups)
    tokens = std::max(tokens, g.prefill_chunk_tokens);
  return tokens;
}

cost_rates rates_of(const cluster_config& cluster) {
  return {cluster.costs.prefill_us_per_token, cluster.costs.decode_us_per_token,
          cluster.lease.assumed_bytes_per_s, longest_chunk(cluster)};
}

form_pool pool_of(const node_context& node, const rank_hardware& hardware) {
  const group_config& g = *node.group;
  form_pool f;
  f.group = g.name;
  f.owner = node.life;
  f.blocks = hardware.pool_blocks();
  f.block_bytes = hardware.block_bytes();
  f.block_tokens = g.kv.block_tokens;
  f.tp_degree = g.ranks;
  f.decode_slots = g.role == group_role::prefill ? 0 : g.decode_slots;
  f.quarantine_blocks_max = quarantine_blocks_of(g, f.blocks);
  f.waiting_max = limits::prefill_queue_max;
  f.inflight_bytes_max = node.cluster.inflight_bytes * g.ranks; // each rank takes its share
  f.rates = rates_of(node.cluster);
  f.mapped = node.cluster.path == hand_off_path::in_place && g.role == group_role::decode;
  return f;
}

} // namespace

outcome<std::unique_ptr<node_host>> node_host::prepare(const cluster_config& cluster,
                                                       const cluster_node& self,
                                                       const host_options& options,
                                                       transport::hub& hub) {
  std::unique_ptr<node_host> host{new node_host};
  host->options_ = options;
  host->self_ = self;
  host->node_ = std::make_unique<node_context>();
  node_context& node = *host->node_;
  node.name = self.name;
  node.life = random_life();
  node.cluster = cluster;
  node.run_id = options.run_id;
  node.alarms = std::make_shared<alarm_clock>();
  node.rank = self.rank;
  node.message_base = node.life.low & ~((std::uint64_t{1} << 44) - 1);
  if (self.group)
    node.group = find_group(node.cluster, *self.group);
  if (cluster.trace) {
    auto trace = open_trace(node, options.dir);
    if (!trace)
      return trace.error();
    node.trace = std::move(trace.value());
  }
  if (node.group == nullptr) {
    auto reader = open_prompt_reader(node.cluster);
    if (!reader)
      return reader.error();
    host->reader_ = reader.value();
    return host;
  }
  auto hardware = rank_hardware::start(node, options.run_id, hub);
  if (!hardware)
    return hardware.error();
  host->hardware_ = std::move(hardware.value());
  node.model = host->hardware_->identity();
  return host;
}

failure node_host::start(caf::actor_system& system, std::function<void()> on_formed) {
  guard_setup setup = make_actors(system, std::move(on_formed));
  own_ = setup.own;
  open_machines(); // before any peer can know of them
  guard_ = spawn_node_guard(system, *node_, std::move(setup), options_.use_network);
  const bool visible = options_.use_network || node_->group == nullptr; // clients find the router
  if (!visible)
    return {};
  const auto port = system.middleman().publish(caf::actor_cast<caf::actor>(guard_), self_.port,
                                               node_->cluster.host.c_str(), true);
  if (!port)
    return {reason::bad_input, node_->name.value + ": port " + std::to_string(self_.port) + " of "
                                 + node_->cluster.host + " cannot be opened: "
                                 + system.render(port.error())};
  return {};
}

guard_setup node_host::make_actors(caf::actor_system& system, std::function<void()> on_formed) {
  guard_setup setup;
  setup.say = options_.say;
  watch_ = std::make_unique<process_watch>(*node_);
  setup.watch = watch_.get();
  for (const auto& other : nodes(node_->cluster))
    if (other.name != node_->name)
      setup.others.push_back(other);
  if (!hardware_) {
    setup.own.router = spawn_router(system, *node_, reader_, std::move(on_formed));
    return setup;
  }
  setup.endpoint = &hardware_->endpoint();
  setup.own.compute = spawn_compute_device(system, *node_, hardware_->compute());
  setup.own.transfer
    = spawn_transfer_device(system, *node_, setup.own.compute, hardware_->transfer());
  hardware_->compute_port().attach(setup.own.compute);
  hardware_->transfer_port().attach(setup.own.transfer);
  if (node_->rank.value == 0) {
    setup.own.group = spawn_rank_group(system, *node_);
    setup.own.pool = spawn_pool(system, *node_);
  }
  return setup;
}

void node_host::open_machines() {
  const std::string sender = node_->name.value + ":start";
  if (own_.router)
    post(*node_, sender, own_.router, expectation(node_->cluster));
  if (!own_.pool)
    return;
  const group_config& g = *node_->group;
  post(*node_, sender, own_.pool, pool_of(*node_, *hardware_));
  const std::uint32_t chunk
    = g.prefill_chunk_tokens > 0 ? g.prefill_chunk_tokens : limits::prefill_chunk_tokens_default;
  post(*node_, sender, own_.group, form_group{g.name, g.ranks, chunk, g.decode_slots});
}

void node_host::introduce(const node_host& other) {
  protocol::message_header header{node_->next_message_id(), 0, node_->name.value + ":start", 0};
  caf::anon_send(caf::actor_cast<caf::actor>(guard_), header, other.guard_, peer_found{});
}

void node_host::stop() {
  post(*node_, node_->name.value + ":stop", guard_, end_node{});
  guard_ = {};
  if (watch_)
    watch_->stop();
}

} // namespace baton::actors
