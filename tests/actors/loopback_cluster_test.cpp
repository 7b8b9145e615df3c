// A whole cluster in this process: every actor, the real model, the loopback path. What the
// sanitizers see of the product.
#include "actors/device_messages.hpp"
#include "actors/messages_caf.hpp"
#include "actors/node_host.hpp"
#include "actors/shell.hpp"
#include "actors/status_messages.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <future>
#include <unistd.h>

using namespace baton;
using namespace baton::actors;
using namespace baton::protocol;

namespace {

struct answer {
  request_ended ended;
  std::vector<std::int32_t> tokens;
  std::uint64_t kv_digest = 0;
};

/// Submits one request and keeps what comes of it.
class asking_client : public shell {
public:
  asking_client(caf::actor_config& config, node_context& node, handle router, submit_request ask,
                std::uint32_t cancel_after, std::shared_ptr<std::promise<answer>> result)
    : shell(config, node, "client"), router_(std::move(router)), ask_(std::move(ask)),
      cancel_after_(cancel_after), result_(std::move(result)) {}

  caf::behavior make_behavior() override {
    send_to(router_, ask_);
    auto* self = this;
    return caf::behavior{handler<request_accepted>(self), handler<phase_entered>(self),
                         handler<frame_forwarded>(self), handler<frame_text>(self),
                         handler<request_ended>(self)};
  }

  void on_message(const message_header&, const handle&, request_accepted&) {}
  void on_message(const message_header&, const handle&, phase_entered&) {}
  void on_message(const message_header&, const handle&, frame_text&) {}
  void on_message(const message_header&, const handle&, frame_forwarded& e) {
    CHECK(e.index == answer_.tokens.size());
    answer_.tokens.push_back(e.token.value);
    answer_.kv_digest = e.kv_digest;
    if (answer_.tokens.size() == cancel_after_)
      send_to(router_, cancel_request{ask_.spec.external, {reason::cancelled, "by the test"}});
  }
  void on_message(const message_header&, const handle&, request_ended& e) {
    answer_.ended = e;
    result_->set_value(answer_);
    quit();
  }

private:
  handle router_;
  submit_request ask_;
  std::uint32_t cancel_after_;
  answer answer_;
  std::shared_ptr<std::promise<answer>> result_;
};

/// Waits for every pool and node to say that nothing is held; asks again after each full round.
class drain_watch : public shell {
public:
  drain_watch(caf::actor_config& config, node_context& node, handle guard, std::size_t nodes,
              std::size_t pools, std::shared_ptr<std::promise<void>> drained)
    : shell(config, node, "watch"), guard_(std::move(guard)), expected_(nodes + pools),
      drained_(std::move(drained)) {}

  caf::behavior make_behavior() override {
    send_to(guard_, ask_status{}, self_handle());
    auto* self = this;
    return caf::behavior{handler<node_status>(self), handler<pool_status>(self)};
  }

  void on_message(const message_header&, const handle&, node_status& e) {
    hear(e.actors_open == 0);
  }
  void on_message(const message_header&, const handle&, pool_status& e) {
    hear(e.free == e.blocks && e.slots_used == 0);
  }

private:
  void hear(bool idle) {
    idle_ += idle ? 1 : 0;
    if (++heard_ < expected_)
      return;
    if (idle_ == expected_) {
      drained_->set_value();
      quit();
      return;
    }
    heard_ = idle_ = 0;
    send_to(guard_, ask_status{}, self_handle());
  }

  handle guard_;
  std::size_t expected_;
  std::size_t heard_ = 0;
  std::size_t idle_ = 0;
  std::shared_ptr<std::promise<void>> drained_;
};

constexpr std::chrono::seconds patience{120}; // sanitizers are slow

std::string cluster_text(const std::string& groups) {
  return R"({"name": "loopback-test", "path": "loopback", "executor": {"kind": "llama", "model": ")"
         + std::string(BATON_DEPLOY) + R"(/models/kjv-1.6m"}, "lease": {"ms_min": 60000},
         "peer_timeout_ms": 60000, "allow_faults": true, "trace": true, "groups": [)"
         + groups + "]}";
}

const char* const split_groups = R"(
  {"name": "P7", "role": "prefill", "ranks": 2, "pool_blocks": 64, "prefill_chunk_tokens": 16},
  {"name": "D3", "role": "decode", "ranks": 2, "pool_blocks": 64, "decode_slots": 4})";
const char* const mixed_group = R"(
  {"name": "M1", "role": "mixed", "ranks": 1, "pool_blocks": 64, "prefill_chunk_tokens": 16,
   "decode_slots": 4})";

/// Nodes of one cluster in one actor system; ends with nothing left open.
class test_cluster {
public:
  explicit test_cluster(const std::string& groups) {
    const auto cluster = parse_cluster(cluster_text(groups), "test");
    REQUIRE_MESSAGE(cluster.ok(), (cluster ? "" : cluster.error().text));
    dir_ = std::filesystem::temp_directory_path() / ("baton-test-" + std::to_string(getpid()));
    std::filesystem::create_directories(dir_);
    configure(config_, 200, 60'000);
    system_ = std::make_unique<caf::actor_system>(config_);
    prepare(cluster.value());
    auto formed = std::make_shared<std::promise<void>>();
    for (auto& host : hosts_) {
      const failure why = host->start(*system_, [formed] { formed->set_value(); });
      REQUIRE_MESSAGE(!why, why.text);
    }
    for (auto& host : hosts_)
      for (auto& other : hosts_)
        if (host != other)
          host->introduce(*other);
    REQUIRE(formed->get_future().wait_for(patience) == std::future_status::ready);
  }

  ~test_cluster() {
    for (auto& host : hosts_)
      host->stop();
    system_->await_all_actors_done();
    std::filesystem::remove_all(dir_);
  }

  std::future<answer> ask(const std::string& name, std::uint32_t output_tokens,
                          std::uint32_t cancel_after = 0) {
    submit_request ask;
    ask.spec.external = {name};
    ask.spec.tenant = {"default"};
    ask.spec.output_tokens = output_tokens;
    ask.spec.queue_ms = 60'000;
    ask.spec.record_kv_digest = true;
    ask.prompt_text = private_text{"In the beginning God created the heaven and the earth."};
    auto result = std::make_shared<std::promise<answer>>();
    auto& router = *hosts_.front();
    system_->spawn<asking_client>(router.context(), router_handle(), std::move(ask), cancel_after,
                                  result);
    return result->get_future();
  }

  bool drains() {
    auto drained = std::make_shared<std::promise<void>>();
    auto& router = *hosts_.front();
    const std::size_t pools = router.context().cluster.groups.size();
    system_->spawn<drain_watch>(router.context(), router.guard(), hosts_.size(), pools, drained);
    return drained->get_future().wait_for(patience) == std::future_status::ready;
  }

private:
  void prepare(const cluster_config& cluster) {
    const auto members = nodes(cluster);
    std::vector<std::future<outcome<std::unique_ptr<node_host>>>> made;
    for (const auto& node : members)
      made.push_back(std::async(std::launch::async, [&, node] {
        const host_options options{dir_.string(), "test" + std::to_string(getpid()), false,
                                   [](const std::string&) {}};
        return node_host::prepare(cluster, node, options, hub_);
      }));
    for (auto& m : made) {
      auto host = m.get();
      REQUIRE_MESSAGE(host.ok(), (host ? "" : host.error().text));
      hosts_.push_back(std::move(host.value()));
    }
  }

  handle router_handle() {
    return hosts_.front()->context().peers.find({"router"}).handles.router;
  }

  std::filesystem::path dir_;
  transport::hub hub_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::vector<std::unique_ptr<node_host>> hosts_;
};

answer wait(std::future<answer> from) {
  REQUIRE(from.wait_for(patience) == std::future_status::ready);
  return from.get();
}

} // namespace

TEST_CASE("split and mixed groups give the same tokens and KV bytes, and everything drains") {
  answer split;
  {
    test_cluster cluster(split_groups);
    split = wait(cluster.ask("alone", 12));
    CHECK(cluster.drains());
  }
  CHECK(split.ended.kind == outcome_kind::completed);
  CHECK(split.tokens.size() == 12);
  test_cluster cluster(mixed_group);
  const answer mixed = wait(cluster.ask("alone", 12));
  CHECK(mixed.tokens == split.tokens);
  CHECK(mixed.kv_digest == split.kv_digest);
  CHECK(cluster.drains());
}

TEST_CASE("requests that share a cluster, some cancelled, leave nothing behind") {
  test_cluster cluster(split_groups);
  std::vector<std::future<answer>> answers;
  for (int i = 0; i < 8; ++i)
    answers.push_back(cluster.ask("many-" + std::to_string(i), 16, i % 2 == 0 ? 3 : 0));
  for (int i = 0; i < 8; ++i) {
    const answer a = wait(std::move(answers[static_cast<std::size_t>(i)]));
    CHECK(a.ended.kind == (i % 2 == 0 ? outcome_kind::cancelled : outcome_kind::completed));
  }
  CHECK(cluster.drains());
}

TEST_CASE("a client that dies has cancelled what it asked for") {
  test_cluster cluster(split_groups);
  CHECK(wait(cluster.ask("first", 4)).ended.kind == outcome_kind::completed);
  CHECK(cluster.drains());
}
