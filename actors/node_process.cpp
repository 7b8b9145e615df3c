#include "actors/node_process.hpp"

#include "actors/hang_up.hpp"
#include "actors/messages_caf.hpp"
#include "actors/node_host.hpp"
#include "actors/run_directory.hpp"
#include "protocol/assert.hpp"
#include "protocol/path_choice.hpp"
#include "transport/ucx_environment.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <iostream>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace baton::actors {

using namespace protocol;

namespace {

constexpr std::chrono::milliseconds start_grace{500};
constexpr std::chrono::milliseconds end_wait_max{1000};

/// One line to the supervisor (or the person who started the node by hand).
void say(const std::string& line) {
  static std::mutex one_line;
  const std::lock_guard<std::mutex> lock(one_line);
  std::cout << line << std::endl;
}

int fail(const std::string& node, const failure& why) {
  say("error " + node + ": " + why.text);
  return 1;
}

/// UCX reads its settings before main(): start over with them where they are missing. argv begins
/// with the command's name, and the program's goes before it.
void ensure_ucx_environment(char** argv, const cluster_config& cluster) {
  static char program[] = "baton";
  if (!transport::check_ucx_environment() || getenv("BATON_ENVIRONMENT_SET") != nullptr)
    return;
  transport::set_ucx_environment(cluster.host, ucx_tls_for(cluster.transport));
  setenv("BATON_ENVIRONMENT_SET", "1", 1);
  std::vector<char*> again{program};
  for (char** argument = argv; *argument != nullptr; ++argument)
    again.push_back(*argument);
  again.push_back(nullptr);
  execv("/proc/self/exe", again.data());
}

/// SIGINT and SIGTERM, taken by a thread of their own. A node that starts may wait long for others,
/// has promised nothing and recorded nothing: it leaves soon. Not at once, since UCX would leave
/// shared memory behind if it were stopped between making and unlinking it.
class stop_signals {
public:
  stop_signals() {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGTERM);
    if (!ignores_hang_up()) // a terminal that closes tells the nodes as it tells `baton up`
      sigaddset(&stop, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &stop, nullptr); // before any thread: all inherit it
    thread_ = std::thread([this, stop] {
      int signal = 0;
      sigwait(&stop, &signal);
      if (started_.get_future().wait_for(start_grace) == std::future_status::timeout)
        std::_Exit(0);
    });
  }

  ~stop_signals() {
    if (!thread_.joinable())
      return;
    started_.set_value();
    pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }

  /// The node serves from now on; returns when it shall stop.
  void await() {
    started_.set_value();
    thread_.join();
  }

private:
  std::promise<void> started_;
  std::thread thread_;
};

struct arguments {
  std::string dir = "run";
  std::vector<std::string> names;
};

outcome<std::vector<cluster_node>> choose(const cluster_config& cluster, const arguments& args) {
  std::vector<cluster_node> chosen;
  for (const auto& node : nodes(cluster))
    for (const auto& name : args.names)
      if (name == "all" || name == node.name.value)
        chosen.push_back(node);
  if (!chosen.empty())
    return chosen;
  return failure{reason::bad_input, "--name: the cluster has no node '" + args.names.front() + "'"};
}

using hosts = std::vector<std::unique_ptr<node_host>>;

/// Ranks of a group wait for each other while they start, so that each node gets a thread.
outcome<hosts> prepare_all(const cluster_config& cluster, const std::vector<cluster_node>& chosen,
                           const host_options& options, transport::hub& hub) {
  hosts made(chosen.size());
  std::vector<failure> failures(chosen.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    threads.emplace_back([&, i] {
      auto host = node_host::prepare(cluster, chosen[i], options, hub);
      if (host)
        made[i] = std::move(host.value());
      else
        failures[i] = host.error();
    });
  for (auto& t : threads)
    t.join();
  for (const auto& f : failures)
    if (f)
      return f;
  return made;
}

failure start_all(caf::actor_system& system, hosts& all) {
  const auto formed = [] { say("formed"); };
  for (auto& host : all)
    if (failure why = host->start(system, formed))
      return why;
  for (auto& host : all) {
    for (auto& other : all)
      if (host != other && all.size() > 1)
        host->introduce(*other);
    say("started " + host->context().name.value);
  }
  return {};
}

void flush_traces(hosts& all) {
  for (auto& host : all)
    if (host->context().trace)
      host->context().trace->flush();
}

/// For the assertion hook, which takes no argument: the nodes of this process.
hosts* hosts_of_this_process = nullptr;

/// A broken invariant aborts the process; what led to it must be on disk by then.
void write_traces_out(const char*, const char*, int) {
  if (hosts_of_this_process != nullptr)
    flush_traces(*hosts_of_this_process);
}

/// A system of CAF 0.17 that ends while it connects may wait for a thread that has ended already.
void bound_the_end() {
  std::thread([] {
    std::this_thread::sleep_for(end_wait_max);
    std::_Exit(0);
  }).detach();
}

/// Actors of open requests would keep the system alive: say how many are left, and leave with the
/// trace written. Their memory ends with this process, so that no evidence is owed any more.
int stop_all(hosts& all, caf::actor_system& system) {
  std::int64_t left = 0;
  for (auto& host : all) {
    left += host->left_open();
    host->stop();
  }
  if (left == 0) {
    system.await_all_actors_done();
    flush_traces(all);
    bound_the_end();
    return 0;
  }
  flush_traces(all);
  say("left with " + std::to_string(left) + " actors of open requests");
  std::fflush(nullptr);
  std::_Exit(0);
}

int run(const arguments& args) {
  stop_signals stop;
  auto cluster = read_cluster(args.dir + "/cluster.json");
  if (!cluster)
    return fail(args.names.front(), cluster.error());
  if (cluster.value().measures_path)
    return fail(args.names.front(), {reason::bad_input, args.dir + "/cluster.json: path: it is "
                                                         "measured by baton up, not by a node"});
  const auto run_id = read_file(args.dir + "/run_id");
  if (!run_id)
    return fail(args.names.front(), run_id.error());
  auto chosen = choose(cluster.value(), args);
  if (!chosen)
    return fail(args.names.front(), chosen.error());
  host_options options{args.dir, run_id.value(), chosen.value().size() == 1, say};
  transport::hub hub;
  auto all = prepare_all(cluster.value(), chosen.value(), options, hub);
  if (!all)
    return fail(args.names.front(), all.error());
  hosts_of_this_process = &all.value();
  set_assertion_hook(write_traces_out);
  caf::actor_system_config config;
  configure(config, cluster.value().heartbeat_ms, cluster.value().peer_timeout_ms);
  caf::actor_system system{config};
  if (failure why = start_all(system, all.value())) {
    fail(args.names.front(), why);
    std::_Exit(1);
  }
  stop.await();
  return stop_all(all.value(), system);
}

} // namespace

int node_main(int argc, char** argv) {
  arguments args;
  CLI::App app{"One node of a cluster, in this process, until SIGINT, SIGTERM or SIGHUP. `baton "
               "up` starts one for each node of this host; start them by hand to watch or "
               "debug one.",
               "baton node"};
  app.add_option("--dir", args.dir, "run directory, with cluster.json and run_id")
    ->capture_default_str();
  app.add_option("--name", args.names, "router, a rank such as P7.0, or all (loopback only)")
    ->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (const auto cluster = read_cluster(args.dir + "/cluster.json")) // if not, run() says why
    ensure_ucx_environment(argv, cluster.value());
  return run(args);
}

} // namespace baton::actors
