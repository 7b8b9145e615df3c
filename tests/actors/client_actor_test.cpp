// The client actor against a router of this file, in one actor system.
#include "actors/client.hpp"
#include "actors/messages_caf.hpp"
#include "actors/shell.hpp"
#include "actors/status_messages.hpp"
#include "tests/actors/client_support.hpp"

#include <chrono>
#include <functional>
#include <future>
#include <sstream>

using namespace client_support;
using namespace baton::actors;

namespace {

cluster_config small_cluster() {
  auto c = parse_cluster(R"({"name": "n", "executor": {"kind": "synthetic"}, "trace": false,
    "groups": [{"name": "A", "role": "mixed", "pool_blocks": 8}]})", "cluster.json");
  REQUIRE_MESSAGE(c, c.error().text);
  return c.value();
}

/// How the router answers: frames to send at once, and the outcome, if it gives one.
struct answer {
  std::vector<std::int32_t> tokens;
  std::optional<outcome_kind> kind = outcome_kind::completed;
};

struct plan {
  std::function<answer(const submit_request&)> answer_to = [](const auto&) { return answer{}; };
  std::string cluster = "n";
  std::string run_id;
  std::uint32_t rounds_until_free = 0; ///< status rounds in which a block is still leased
  std::uint32_t repeat_frame = 0;      ///< send this frame twice; 0: none
  std::atomic<int> cancels{0};
};

/// The router and its node's guard in one.
class fake_router : public shell {
public:
  fake_router(caf::actor_config& config, node_context& node, plan& plan)
    : shell(config, node, "router"), plan_(plan) {}

  caf::behavior make_behavior() override {
    auto* self = this;
    return caf::behavior{handler<ask_router>(self), handler<submit_request>(self),
                         handler<cancel_request>(self), handler<ask_status>(self),
                         handler<end_node>(self)};
  }

  void on_message(const message_header&, const handle&, ask_router&) {
    send_to(sender(), router_is{1, plan_.cluster, plan_.run_id}, self_handle());
  }

  void on_message(const message_header&, const handle&, submit_request& e) {
    const std::string id = e.spec.external.value;
    const auto a = plan_.answer_to(e);
    send_to(sender(), request_accepted{e.spec.external, {1, ++accepted_}});
    for (std::uint32_t i = 0; i < a.tokens.size(); ++i) {
      send_to(sender(), frame(id, i, a.tokens[i]));
      send_to(sender(), frame_text{e.spec.external, i, std::to_string(a.tokens[i]) + ";"});
      if (i > 0 && i == plan_.repeat_frame)
        send_to(sender(), frame(id, i, a.tokens[i]));
    }
    if (a.kind)
      send_to(sender(), ended(id, *a.kind, static_cast<std::uint32_t>(a.tokens.size())));
    else
      open_[e.spec.external] = static_cast<std::uint32_t>(a.tokens.size());
  }

  void on_message(const message_header&, const handle&, cancel_request& e) {
    ++plan_.cancels;
    const auto it = open_.find(e.external);
    if (it == open_.end())
      return;
    send_to(sender(), ended(e.external.value, outcome_kind::cancelled, it->second, e.why));
    open_.erase(it);
  }

  void on_message(const message_header&, const handle& asker, ask_status&) {
    for (const char* name : {"router", "A.0"}) {
      node_status s;
      s.node = {name};
      send_to(asker, s);
    }
    pool_status p;
    p.group = {"A"};
    p.blocks = 8;
    p.leased = rounds_++ < plan_.rounds_until_free ? 1 : 0;
    p.free = p.blocks - p.leased;
    send_to(asker, p);
  }

  void on_message(const message_header&, const handle&, end_node&) { quit(); }

private:
  plan& plan_;
  std::uint64_t accepted_ = 0;
  std::uint32_t rounds_ = 0;
  std::map<external_id, std::uint32_t> open_;
};

/// One actor system with a fake router; runs one client in it.
struct stage_of_test {
  stage_of_test() {
    configure(config, 200, 1000);
    system = std::make_unique<caf::actor_system>(config);
    node.name = {"client"};
    node.cluster = small_cluster();
    router_node.name = {"router"};
    router_node.cluster = node.cluster;
    router = caf::actor_cast<handle>(system->spawn<fake_router>(router_node, how));
  }
  ~stage_of_test() { post(router_node, "test", router, end_node{}); }

  client_result run(const script& s, bool settles = false,
                    const std::function<void(const handle&)>& meanwhile = {}) {
    client_setup setup;
    setup.script = s;
    setup.guard = router;
    setup.settles = settles;
    setup.output = &output;
    return run(std::move(setup), meanwhile);
  }

  client_result run(client_setup setup, const std::function<void(const handle&)>& meanwhile = {}) {
    std::promise<client_result> ended;
    const handle client = spawn_client(*system, node, std::move(setup), [&ended](client_result r) {
      ended.set_value(std::move(r));
    });
    if (meanwhile)
      meanwhile(client);
    return ended.get_future().get();
  }

  plan how;
  std::ostringstream out;
  std::ostringstream err;
  live_output output{live_mode::text, out, err};
  caf::actor_system_config config;
  node_context node;
  node_context router_node;
  std::unique_ptr<caf::actor_system> system;
  handle router;
};

} // namespace

TEST_CASE("the client plays a script to its last outcome") {
  stage_of_test t;
  t.how.answer_to = [](const auto& e) {
    return answer{std::vector<std::int32_t>(e.spec.prompt_tokens, 7)};
  };
  const auto result = t.run(requests(request("r", ", \"count\": 40") + ","
                                       + request("late", ", \"at_ms\": 30"),
                                     ", \"max_open\": 3"));
  CHECK(result.end == run_end::played);
  CHECK(result.run.problems().empty());
  CHECK(result.run.counts().over == 41);
  CHECK(result.run.counts().tokens == 41 * 4);
  CHECK_FALSE(result.pools);
  const auto* late = result.run.find({"late"});
  CHECK(ms_between(result.run.started(), late->submitted) >= 30);
  CHECK(late->text == "7;7;7;7;");
  CHECK(t.out.str().find("late: 7;7;7;7;\n") != std::string::npos);
}

TEST_CASE("a repeated frame is an error of the run") {
  stage_of_test t;
  t.how.repeat_frame = 1;
  t.how.answer_to = [](const auto&) { return answer{{1, 2, 3}}; };
  const auto result = t.run(requests(request("a")));
  CHECK(result.end == run_end::played);
  CHECK(result.run.problems()
        == std::vector<std::string>{"a: frame 1 came where frame 2 was due"});
}

TEST_CASE("cancels of the script are sent when they are due") {
  stage_of_test t;
  t.how.answer_to = [](const auto&) { return answer{{1, 2}, std::nullopt}; };
  const auto result
    = t.run(requests(request("a", R"(, "cancel": {"after_ms": 10})") + ","
                     + request("b", R"(, "cancel": {"after_tokens": 2})")));
  CHECK(result.end == run_end::played);
  CHECK(t.how.cancels == 2);
  CHECK(result.run.find({"a"})->end()->ended.why.text == "cancelled after 10 ms");
  CHECK(result.run.find({"b"})->end()->ended.why.text == "cancelled after 2 tokens");
}

TEST_CASE("a script that times out names what is open, and cancels it") {
  stage_of_test t;
  t.how.answer_to = [](const auto& e) {
    return answer{{}, e.spec.external.value == "b" ? std::optional<outcome_kind>{}
                                                   : outcome_kind::completed};
  };
  const auto result
    = t.run(requests(request("a") + "," + request("b"), ", \"timeout_ms\": 40"));
  CHECK(result.end == run_end::timed_out);
  CHECK(result.open_at_end == std::vector<std::string>{"b"});
  CHECK(result.run.find({"b"})->end()->ended.kind == outcome_kind::cancelled);
}

TEST_CASE("an interrupt cancels everything open and waits for the outcomes") {
  stage_of_test t;
  std::promise<void> submitted;
  t.how.answer_to = [&](const auto&) {
    submitted.set_value();
    return answer{{1}, std::nullopt};
  };
  const auto result
    = t.run(requests(request("a") + "," + request("b", ", \"at_ms\": 60000")), false,
            [&](const handle& client) {
              submitted.get_future().wait();
              interrupt_client(t.node, client);
            });
  CHECK(result.end == run_end::interrupted);
  CHECK(result.open_at_end == std::vector<std::string>{"a"});
  CHECK(t.how.cancels == 1);
  CHECK(result.run.counts().waiting == 1);
}

TEST_CASE("afterwards the client waits until every pool is free") {
  stage_of_test t;
  t.how.rounds_until_free = 3;
  const auto result = t.run(requests(request("a")), true);
  CHECK(result.end == run_end::played);
  REQUIRE(result.pools);
  CHECK(result.pools->describe() == "pools: free = capacity (A 8/8 blocks), no actor left");
}

TEST_CASE("another cluster's router is refused") {
  stage_of_test t;
  t.how.cluster = "other";
  const auto result = t.run(requests(request("a")));
  CHECK(result.end == run_end::not_connected);
  CHECK(result.error.text.find("is cluster 'other', not 'n'") != std::string::npos);
}

TEST_CASE("the router of another run of the same cluster is refused by the run ids") {
  stage_of_test t;
  t.node.run_id = "mine";
  t.how.run_id = "later";
  const auto result = t.run(requests(request("a")));
  CHECK(result.end == run_end::not_connected);
  CHECK(result.error.text.find("is another run of cluster 'n' (run_id later) than this run "
                               "directory's (run_id mine)") != std::string::npos);
}

TEST_CASE("the end of the router ends the run with an error") {
  stage_of_test t;
  std::promise<void> submitted;
  t.how.answer_to = [&](const auto&) {
    submitted.set_value();
    return answer{{1}, std::nullopt};
  };
  const auto result = t.run(requests(request("a")), true, [&](const handle&) {
    submitted.get_future().wait();
    post(t.router_node, "test", t.router, end_node{});
  });
  CHECK(result.end == run_end::played);
  REQUIRE(result.run.problems().size() == 1);
  CHECK(result.run.problems()[0].find("the router is lost") == 0);
  CHECK_FALSE(result.pools);
}
