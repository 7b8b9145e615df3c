#include "tests/actors/deterministic_cluster.hpp"

#include "actors/device_port.hpp"
#include "actors/interfaces.hpp"
#include "actors/shell.hpp"
#include "actors/status_messages.hpp"
#include "protocol/membership.hpp"
#include "protocol/rank_group.hpp"
#include "tests/actors/deterministic_actors.hpp"
#include "tests/actors/deterministic_devices.hpp"
#include "tests/actors/deterministic_wires.hpp"

#include <algorithm>
#include <caf/scheduler/test_coordinator.hpp>
#include <random>

namespace baton::tests {

using namespace actors;
using namespace protocol;

namespace {

constexpr std::uint32_t steps_max = 50'000;
constexpr std::uint32_t vocab = 1'000;
constexpr std::uint32_t prefill_blocks = 8;
constexpr std::uint32_t chunk_tokens = 4;

class testing_config : public caf::actor_system_config {
public:
  testing_config() {
    set("scheduler.policy", caf::atom("testing"));
    set("logger.inline-output", true);
  }
};

/// One node and, of a rank, its devices.
struct member {
  member() : compute_port(context, "compute"), transfer_port(context, "endpoint") {}

  node_context context;
  node_handles own;
  device_port compute_port;
  device_port transfer_port;
  std::unique_ptr<stepped_device> device;
  std::unique_ptr<stepped_endpoint> endpoint;
};

cluster_config cluster_of(const hand_off_shape& shape) {
  cluster_config c;
  c.name = "deterministic";
  c.allow_faults = true;
  group_config p;
  p.name = {"P7"};
  p.role = group_role::prefill;
  p.ranks = static_cast<std::uint16_t>(shape.source_tp);
  p.prefill_chunk_tokens = chunk_tokens;
  p.kv.block_tokens = sample_block_tokens;
  group_config d = p;
  d.name = {"D3"};
  d.role = group_role::decode;
  d.ranks = static_cast<std::uint16_t>(shape.destination_tp);
  d.decode_slots = 2;
  c.groups = {p, d};
  return c;
}

class deterministic_cluster {
public:
  deterministic_cluster(const deterministic_script& script, std::uint64_t seed)
    : script_(script), seed_(seed), random_(seed), system_(config_),
      scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())),
      wires_(system_, script.lost_word) {
    scheduler_.clock().current_time += std::chrono::hours(1); // zero is a time of its own
    add_node({"router"}, nullptr, {});
    add_node({"client"}, nullptr, {});
    const cluster_config cluster = cluster_of(script.shape);
    for (const auto& group : cluster.groups)
      for (std::uint16_t r = 0; r < group.ranks; ++r)
        add_node(node_of(group.name, {r}), &group, {r});
    spawn_actors();
    connect();
    open_machines();
  }

  ~deterministic_cluster() { // the system's own destructor would wait for ever
    stop();
    kill_all();
  }

  deterministic_run run() {
    client_ = spawn_client();
    for (std::uint32_t step = 0; advance(); ++step) {
      if (script_.cancel_step == step)
        cancel();
      if (step > steps_max) {
        run_.not_at_rest.push_back("it goes on after " + std::to_string(steps_max) + " steps");
        break;
      }
    }
    run_.lost = wires_.lost_word();
    ask_pools();
    for (const auto& m : members_)
      if (m->context.counts.total() != 0)
        run_.not_at_rest.push_back(m->context.name.value + " still has "
                                   + std::to_string(m->context.counts.total()) + " actors");
    stop();
    if (const auto left = system_.registry().running(); left != 0)
      run_.not_at_rest.push_back(std::to_string(left) + " actors run after the end");
    kill_all();
    run_.trace.index();
    return std::move(run_);
  }

private:
  // -- putting together ---------------------------------------------------------------------------

  void add_node(const node_name& name, const group_config* group, rank_id rank) {
    members_.push_back(std::make_unique<member>());
    const auto number = static_cast<std::uint32_t>(members_.size());
    node_context& node = members_.back()->context;
    node.name = name;
    node.life = {9, number};
    node.cluster = cluster_of(script_.shape);
    node.group = group == nullptr ? nullptr : find_group(node.cluster, group->name);
    node.rank = rank;
    node.model = sample_model();
    node.message_base = std::uint64_t{number} << 44;
    node.request_seed = 1;
    node.clock = [this] { return now(); };
    node.trace = std::make_unique<memory_recorder>(run_.trace, number - 1);
    trace_section section;
    section.file = name.value + ".trace.jsonl";
    section.header = {trace_version, name, node.life, "deterministic", 0};
    section.end = section_end::closed;
    run_.trace.all_sections.push_back(std::move(section));
  }

  /// Each reading is later than the one before, so that records have one order.
  instant now() {
    const auto passed = scheduler_.clock().current_time.time_since_epoch();
    return {std::chrono::nanoseconds(passed).count() + ++readings_};
  }

  void spawn_actors() {
    for (auto& m : members_) {
      node_context& node = m->context;
      if (node.name.value == "router")
        m->own.router = spawn_router(system_, node, {nullptr, vocab, vocab}, [] {});
      if (node.group != nullptr)
        spawn_rank(*m);
    }
  }

  void spawn_rank(member& m) {
    node_context& node = m.context;
    const model_identity& model = node.model;
    const block_shape shape{model.layers, model.kv_heads, model.head_dim, model.block_tokens, 2};
    const std::uint32_t degree = node.group->ranks;
    const std::uint64_t block_bytes
      = slice_of(shape, degree, node.rank, heads_of_rank(shape.kv_heads, degree, node.rank))
          .segment_bytes;
    const std::uint64_t blocks = std::max(prefill_blocks, script_.decode_blocks);
    m.device = std::make_unique<stepped_device>(node.name, model.hidden, work_, [&m](auto e) {
      m.compute_port.deliver(std::move(e));
    });
    m.endpoint = std::make_unique<stepped_endpoint>(
      node.name, node.life, blocks * block_bytes, endpoints_, work_,
      [&m](transport::transfer_event e) { m.transfer_port.deliver(std::move(e)); });
    endpoints_[node.name] = m.endpoint.get();
    compute_setup compute;
    compute.shape.tp_degree = degree;
    compute.device = m.device.get();
    m.own.compute = spawn_compute_device(system_, node, compute);
    m.own.transfer = spawn_transfer_device(system_, node, m.own.compute,
                                           {shape, degree, block_bytes, m.endpoint.get()});
    m.compute_port.attach(m.own.compute);
    m.transfer_port.attach(m.own.transfer);
    if (node.rank.value != 0)
      return;
    m.own.group = spawn_rank_group(system_, node);
    m.own.pool = spawn_pool(system_, node);
  }

  /// What node guards do: every node knows every other, from now on.
  void connect() {
    for (auto& from : members_)
      for (auto& to : members_) {
        node_handles seen = to->own;
        for (handle* h : {&seen.transfer, &seen.compute, &seen.pool, &seen.group, &seen.router})
          *h = wires_.between(from->context.name, to->context.name, *h);
        from->context.peers.set({to->context.name, to->context.life, seen});
      }
  }

  void open_machines() {
    member& router = *members_.front();
    expect_cluster expect;
    expect.tenants = {{{"tenant-1"}, 8, 1000}};
    expect.requests_open_max = 8;
    for (const auto& g : router.context.cluster.groups)
      expect.groups.push_back({g.name, g.role, g.ranks});
    post(router.context, "test:start", router.own.router, expect);
    for (auto& m : members_) {
      node_context& node = m->context;
      if (node.group == nullptr)
        continue;
      if (m->own.pool)
        open_leader(*m);
      post(node, node.name.value + ":node_guard", router.own.router,
           node_joined{node.name, node.group->name, node.rank, node.life});
      post(node, node.name.value + ":node_guard",
           leader_of(node.group->name).own.group, rank_joined{node.rank, node.life});
    }
  }

  void open_leader(member& m) {
    const group_config& g = *m.context.group;
    const bool decodes = g.role == group_role::decode;
    form_pool formed = sample_pool(g.name.value, decodes ? script_.decode_blocks : prefill_blocks,
                                   g.ranks);
    formed.owner = m.context.life;
    post(m.context, "test:start", m.own.pool, formed);
    post(m.context, "test:start", m.own.group,
         form_group{g.name, g.ranks, chunk_tokens, g.decode_slots});
  }

  member& leader_of(const group_name& group) {
    return **std::find_if(members_.begin(), members_.end(), [&](const auto& m) {
      return m->context.name == node_of(group, {0});
    });
  }

  // -- running ------------------------------------------------------------------------------------

  handle spawn_client() {
    std::vector<submit_request> asks(script_.requests);
    for (std::size_t i = 0; i < asks.size(); ++i) {
      asks[i].spec = script_.spec;
      asks[i].spec.external.value += "-" + std::to_string(i);
      asks[i].prompt = sample_prompt();
    }
    first_ = asks.front().spec.external;
    member& client = *members_[1];
    return caf::actor_cast<handle>(system_.spawn<recording_client>(
      client.context, router_of(client), std::move(asks), run_));
  }

  handle router_of(const member& m) const {
    return m.context.peers.find({"router"}).handles.router;
  }

  void cancel() {
    run_.steps.emplace_back("the client cancels");
    member& client = *members_[1];
    post(client.context, "client:client", router_of(client),
         cancel_request{first_, {reason::cancelled, "by the test"}});
  }

  /// One message, one piece of a device's work, or the next timer; false when there is none.
  bool advance() {
    const std::size_t jobs = scheduler_.jobs.size();
    const std::size_t choices = jobs + work_.queues();
    const bool timers = scheduler_.has_pending_timeout();
    const bool impatient = script_.timer_in_steps != 0 && timers
                           && random_() % script_.timer_in_steps == 0;
    if (choices == 0 || impatient) {
      run_.steps.emplace_back("time passes");
      return scheduler_.trigger_timeout();
    }
    std::size_t pick = random_() % choices;
    for (int again = 0; again < 8 && pick < jobs && lags(pick); ++again)
      pick = random_() % choices;
    if (pick < jobs)
      run_job(pick);
    else
      run_.steps.push_back(work_.run(pick - jobs));
    return true;
  }

  /// One in so many actors hardly ever gets its turn, so that it hears of everything late.
  bool lags(std::size_t job) const {
    constexpr std::uint64_t one_in = 5;
    const auto* actor = dynamic_cast<caf::scheduled_actor*>(scheduler_.jobs[job]);
    return script_.laggards && actor->id() % one_in == seed_ / 2 % one_in;
  }

  void run_job(std::size_t pick) {
    auto& jobs = scheduler_.jobs;
    const auto at = jobs.begin() + static_cast<std::ptrdiff_t>(pick);
    std::rotate(jobs.begin(), at, at + 1);
    auto& actor = scheduler_.next_job<caf::scheduled_actor>();
    seen_.emplace(actor.id(), actor.address());
    const auto* letter = actor.mailbox().peek();
    const std::string what = letter == nullptr ? "begins" : word_of(letter->content());
    run_.steps.push_back(actor.name() + (": " + what));
    scheduler_.run_once();
  }

  void ask_pools() {
    for (auto& m : members_)
      if (m->own.pool)
        caf::anon_send(caf::actor_cast<caf::actor>(m->own.pool), message_header{}, client_,
                       ask_status{});
    run_all();
  }

  void run_all() {
    while (work_.queues() > 0)
      work_.run(0);
    scheduler_.run();
  }

  /// Handles name each other in circles: ends everybody, and lets go of them.
  void stop() {
    for (auto& m : members_) {
      for (handle* h : {&m->own.transfer, &m->own.compute, &m->own.pool, &m->own.group,
                        &m->own.router}) {
        post(m->context, "test:stop", *h, end_node{});
        *h = {};
      }
      m->compute_port.detach();
      m->transfer_port.detach();
    }
    post(members_[1]->context, "test:stop", client_, end_node{});
    client_ = {};
    run_all();
    wires_.cut();
    run_all();
    for (auto& m : members_)
      for (const auto& p : m->context.peers.all())
        m->context.peers.erase(p.name);
  }

  /// Nobody is left after a run that went well.
  void kill_all() {
    for (const auto& [id, actor] : seen_)
      if (const auto living = caf::actor_cast<caf::actor>(actor))
        caf::anon_send_exit(living, caf::exit_reason::kill);
    seen_.clear();
    run_all();
  }

  const deterministic_script script_;
  const std::uint64_t seed_;
  std::mt19937_64 random_;
  std::int64_t readings_ = 0; ///< of the clock, a nanosecond each
  deterministic_run run_;
  device_work work_;
  stepped_endpoint::peer_map endpoints_;
  std::vector<std::unique_ptr<member>> members_; ///< router, client, then the ranks
  testing_config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  wires wires_;
  handle client_;
  external_id first_; ///< request
  std::map<caf::actor_id, caf::actor_addr> seen_; ///< every actor that has run
};

} // namespace

deterministic_run run_deterministic(const deterministic_script& script, std::uint64_t seed) {
  return deterministic_cluster(script, seed).run();
}

} // namespace baton::tests
