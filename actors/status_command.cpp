#include "actors/status_command.hpp"

#include "actors/messages_caf.hpp"
#include "actors/right_router.hpp"
#include "actors/run_directory.hpp"
#include "actors/shell.hpp"
#include "actors/status_messages.hpp"
#include "actors/status_report.hpp"

#include <CLI/CLI.hpp>
#include <caf/io/middleman.hpp>
#include <future>
#include <iostream>
#include <random>

namespace baton::actors {

using namespace protocol;

namespace {

constexpr int exit_silence = 1;
constexpr int exit_refused = 2;
constexpr auto connect_wait = std::chrono::seconds(3);
constexpr std::int64_t answers_wait_ms = 3'000;

struct status_result {
  failure error; ///< why it did not connect
  cluster_answers answers;
};

/// Asks the router's node who it is and then, once, how all are; keeps what comes until all have
/// answered or time is over.
class asking_actor : public shell {
public:
  asking_actor(caf::actor_config& config, node_context& node,
               std::function<void(status_result)> on_end)
    : shell(config, node, "status"), on_end_(std::move(on_end)) {}

  caf::behavior make_behavior() override {
    const auto& cluster = node().cluster;
    request(home_system().middleman().actor_handle(), connect_wait, caf::connect_atom::value,
            cluster.host, port_of(cluster, {"router"}))
      .then(
        [this](const caf::node_id&, const handle& guard, const std::set<std::string>&) {
          guard ? ask(guard) : give_up();
        },
        [this](const caf::error&) { give_up(); });
    auto* self = this;
    return caf::behavior{handler<router_is>(self), handler<node_status>(self),
                         handler<pool_status>(self), handler<tick>(self)};
  }

  void on_message(const message_header&, const handle& router, router_is& e) {
    result_.error = check_router(node(), where(), e, router);
    if (result_.error)
      end();
    else
      send_to(guard_, ask_status{}, self_handle());
  }

  void on_message(const message_header&, const handle&, node_status& e) { take(e); }
  void on_message(const message_header&, const handle&, pool_status& e) { take(e); }
  void on_message(const message_header&, const handle&, tick&) { end(); }

private:
  void ask(const handle& guard) {
    guard_ = guard;
    send_to(guard, ask_router{});
    send_later(answers_wait_ms, tick{});
  }

  std::string where() const {
    const auto& cluster = node().cluster;
    return cluster.host + ":" + std::to_string(port_of(cluster, {"router"}));
  }

  void give_up() {
    result_.error = {reason::peer_lost, "cannot reach the router of cluster '"
                                          + node().cluster.name + "' at " + where()
                                          + ": is the cluster up?"};
    end();
  }

  template <class Status>
  void take(const Status& status) {
    result_.answers.take(status);
    if (result_.answers.complete_for(node().cluster))
      end();
  }

  void end() {
    if (!on_end_)
      return;
    quit();
    guard_ = {};
    std::exchange(on_end_, nullptr)(std::move(result_));
  }

  std::function<void(status_result)> on_end_; ///< null: it has been called
  handle guard_; ///< of the router's node
  status_result result_;
};

status_result ask(const started_cluster& started) {
  const cluster_config& cluster = started.cluster;
  node_context node;
  node.name = {client_node};
  std::random_device random;
  node.life = {(std::uint64_t{random()} << 32) | random(), random()};
  node.cluster = cluster;
  node.run_id = started.run_id;
  caf::actor_system_config config;
  configure(config, cluster.heartbeat_ms, cluster.peer_timeout_ms);
  caf::actor_system system(config);
  std::promise<status_result> ended;
  system.spawn<asking_actor>(node, [&ended](status_result r) { ended.set_value(std::move(r)); });
  return ended.get_future().get();
}

int refuse(const std::string& why) {
  std::cerr << "baton status: " << why << "\n";
  return exit_refused;
}

} // namespace

int status_main(int argc, char** argv) {
  CLI::App app{"What each node of a running cluster says of itself: pools, bytes, paths.",
               "baton status"};
  std::string dir = "run";
  bool as_json = false;
  app.add_option("--dir", dir, "run directory of `baton up`")->capture_default_str();
  app.add_flag("--json", as_json, "one JSON object instead of tables");
  app.footer("\nExit codes: 0 everyone answered, 1 some did not, 2 usage, a file, or no cluster.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : exit_refused;
  }
  const auto started = read_started_cluster(dir);
  if (!started)
    return refuse(started.error().text);
  const cluster_config& cluster = started.value().cluster;
  const status_result result = ask(started.value());
  if (result.error)
    return refuse(result.error.text);
  if (as_json)
    std::cout << to_text(status_json(cluster, result.answers)) << "\n";
  else
    std::cout << status_text(cluster, result.answers);
  return result.answers.complete_for(cluster) ? 0 : exit_silence;
}

} // namespace baton::actors
