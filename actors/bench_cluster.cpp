#include "actors/bench_cluster.hpp"

#include "actors/bench_pipe.hpp"
#include "actors/device_messages.hpp"
#include "actors/messages_caf.hpp"
#include "actors/shell.hpp"

#include <future>
#include <thread>
#include <unistd.h>

namespace baton::actors::bench {

using namespace protocol;

namespace {

constexpr std::chrono::seconds patience{60};
constexpr std::chrono::microseconds drain_pause{200};

/// The lease is long: what a machine is too busy for is no finding here.
constexpr const char* cluster_text = R"({
  "name": "bench", "path": "loopback", "integrity": "off", "trace": false,
  "executor": {"kind": "synthetic", "layers": 1, "kv_heads": 1, "heads": 1, "head_dim": 8,
               "hidden": 8, "vocab": 100, "max_positions": 64},
  "lease": {"ms_min": 60000}, "peer_timeout_ms": 60000,
  "tenants": [{"name": "default", "requests_open_max": 1024}],
  "groups": [
    {"name": "P", "role": "prefill", "ranks": 1, "pool_blocks": 4096, "prefill_chunk_tokens": 64},
    {"name": "D", "role": "decode", "ranks": 1, "pool_blocks": 4096, "decode_slots": 64}]})";

/// Keeps `open_max` requests open until all have ended.
class bench_client : public shell {
public:
  bench_client(caf::actor_config& config, node_context& node, handle router,
               std::uint32_t requests, std::uint32_t open_max, std::promise<std::string> ended)
    : shell(config, node, "client"), router_(std::move(router)), requests_(requests),
      open_max_(open_max), ended_(std::move(ended)) {}

  caf::behavior make_behavior() override {
    submit();
    auto* self = this;
    return caf::behavior{handler<request_accepted>(self), handler<phase_entered>(self),
                         handler<frame_forwarded>(self), handler<frame_text>(self),
                         handler<request_ended>(self)};
  }

  void on_message(const message_header&, const handle&, request_accepted&) {}
  void on_message(const message_header&, const handle&, phase_entered&) {}
  void on_message(const message_header&, const handle&, frame_forwarded&) {}
  void on_message(const message_header&, const handle&, frame_text&) {}
  void on_message(const message_header&, const handle&, request_ended& e) {
    if (e.kind != outcome_kind::completed && why_.empty())
      why_ = "request " + e.external.value + " was " + to_string(e.kind) + ": " + e.why.text;
    if (++ended_count_ < requests_)
      return submit();
    ended_.set_value(why_);
    quit();
  }

private:
  void submit() {
    while (submitted_ < requests_ && submitted_ - ended_count_ < open_max_) {
      submit_request ask;
      ask.spec.external = {"bench-" + std::to_string(submitted_++)};
      ask.spec.tenant = {"default"};
      ask.spec.prompt_tokens = 16;
      ask.spec.output_tokens = 1;
      ask.spec.queue_ms = limits::queue_ms_default;
      send_to(router_, std::move(ask));
    }
  }

  handle router_;
  std::uint32_t requests_;
  std::uint32_t open_max_;
  std::uint32_t submitted_ = 0;
  std::uint32_t ended_count_ = 0;
  std::string why_; ///< of the first one that was not completed
  std::promise<std::string> ended_;
};

} // namespace

bench_cluster::bench_cluster() {
  auto cluster = parse_cluster(cluster_text, "bench");
  if (!cluster)
    give_up(cluster.error().text);
  configure(config_, cluster.value().heartbeat_ms, cluster.value().peer_timeout_ms);
  system_ = std::make_unique<caf::actor_system>(config_);
  prepare(cluster.value());
  auto formed = std::make_shared<std::promise<void>>();
  for (auto& host : hosts_)
    if (failure why = host->start(*system_, [formed] { formed->set_value(); }))
      give_up(why.text);
  for (auto& host : hosts_)
    for (auto& other : hosts_)
      if (host != other)
        host->introduce(*other);
  if (formed->get_future().wait_for(patience) != std::future_status::ready)
    give_up("the cluster of the bench has not formed");
  client_.name = {"client"};
  client_.cluster = cluster.value();
  client_.alarms = std::make_shared<alarm_clock>();
}

bench_cluster::~bench_cluster() {
  for (auto& host : hosts_)
    host->stop();
  system_->await_all_actors_done();
}

void bench_cluster::prepare(const cluster_config& cluster) {
  for (const auto& node : nodes(cluster)) {
    const host_options options{"", "bench" + std::to_string(getpid()), false,
                               [](const std::string&) {}};
    auto host = node_host::prepare(cluster, node, options, hub_);
    if (!host)
      give_up(host.error().text);
    hosts_.push_back(std::move(host.value()));
  }
}

bool bench_cluster::has_open_actors() const {
  for (const auto& host : hosts_)
    if (host->left_open() != 0)
      return true;
  return false;
}

void bench_cluster::play(std::uint32_t requests, std::uint32_t open_max) {
  std::promise<std::string> ended;
  auto why = ended.get_future();
  const handle router = hosts_.front()->context().peers.find({"router"}).handles.router;
  system_->spawn<bench_client>(client_, router, requests, open_max, std::move(ended));
  if (why.wait_for(patience) != std::future_status::ready)
    give_up("the requests of the bench have not ended");
  if (const std::string text = why.get(); !text.empty())
    give_up(text);
  while (has_open_actors())
    std::this_thread::sleep_for(drain_pause);
}

std::uint64_t bench_cluster::messages() const {
  std::uint64_t sum = client_.messages;
  for (const auto& host : hosts_)
    sum += host->context().messages;
  return sum;
}

} // namespace baton::actors::bench
