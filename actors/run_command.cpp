#include "actors/run_command.hpp"

#include "actors/client.hpp"
#include "actors/client_interrupt.hpp"
#include "actors/client_options.hpp"
#include "actors/client_verdict.hpp"
#include "actors/messages_caf.hpp"
#include "actors/run_directory.hpp"

#include <chrono>
#include <filesystem>
#include <future>
#include <iostream>
#include <random>
#include <unistd.h>

namespace baton::actors {

using namespace protocol;

namespace {

constexpr int exit_refused = 2;
constexpr std::uint64_t message_counter_bits = 44;

int refuse(const std::string& why) {
  std::cerr << "baton run: " << why << "\n";
  return exit_refused;
}

std::uint64_t draw() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

/// Everything that is read before the cluster is asked for anything.
struct run_input {
  run_options options;
  cluster_config cluster;
  std::string run_id;
  script asked;
  external_id keep_logits_of;
  token_files files;
};

outcome<run_input> read_input(const run_options& options) {
  run_input input;
  input.options = options;
  auto started = read_started_cluster(options.dir);
  if (!started)
    return started.error();
  input.cluster = std::move(started.value().cluster);
  input.run_id = std::move(started.value().run_id);
  auto asked = script_of(options);
  if (!asked)
    return asked.error();
  input.asked = std::move(asked.value());
  if (failure why = check_script(input.asked, input.cluster, options.script_path))
    return why;
  auto logits = logits_request(options, input.asked);
  if (!logits)
    return logits.error();
  input.keep_logits_of = logits.value();
  const auto folder = std::filesystem::path(options.script_path).parent_path().string();
  auto files = read_token_files(input.asked, folder);
  if (!files)
    return failure{reason::bad_input, options.script_path + ": " + files.error().text};
  input.files = std::move(files.value());
  if (input.asked.expect.trace_check && !input.cluster.trace)
    return failure{reason::bad_input, options.script_path + ": expect.trace_check: cluster \""
                                        + input.cluster.name + "\" writes no trace"};
  return input;
}

failure open_node(node_context& node, const run_input& input) {
  node.name = {client_node};
  node.life = {draw(), draw()};
  node.message_base = draw() >> message_counter_bits << message_counter_bits;
  node.cluster = input.cluster;
  node.run_id = input.run_id;
  node.alarms = std::make_shared<alarm_clock>();
  if (!input.cluster.trace)
    return {};
  trace_header header;
  header.node = node.name;
  header.life = node.life;
  header.cluster = input.cluster.name;
  const auto now = std::chrono::system_clock::now(); // wall clock: shown by trace readers only
  header.opened_unix_ms
    = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  // Several clients may run at once, and a killed one leaves its file torn.
  const std::string file = "client-" + to_string(node.life).substr(0, 8) + ".trace.jsonl";
  auto trace = trace_recorder::open(input.options.dir + "/" + file, header);
  if (!trace)
    return trace.error();
  node.trace = std::move(trace.value());
  return {};
}

/// Plays the script in an actor system of its own, which has ended when this returns.
client_result play(node_context& node, const run_input& input, interrupt_watch& interrupts) {
  caf::actor_system_config config;
  configure(config, node.cluster.heartbeat_ms, node.cluster.peer_timeout_ms);
  caf::actor_system system(config);
  const auto& expect = input.asked.expect;
  live_output output(live_mode_of(input.asked, input.cluster, input.options.stream,
                                  isatty(STDERR_FILENO) == 1),
                     std::cout, std::cerr);
  client_setup setup;
  setup.script = input.asked;
  setup.keep_logits_of = input.keep_logits_of;
  setup.host = input.cluster.host;
  setup.port = port_of(input.cluster, {"router"});
  setup.settles = expect.free_equals_capacity || expect.trace_check;
  setup.output = &output;
  std::promise<client_result> ended;
  const handle client = spawn_client(system, node, std::move(setup), [&ended](client_result r) {
    ended.set_value(std::move(r));
  });
  interrupts.start([&node, client] { interrupt_client(node, client); });
  client_result result = ended.get_future().get();
  interrupts.stop(); // its thread holds the client, which must not outlive the system
  return result;
}

failure write_logits(const run_input& input, const client_run& run) {
  if (input.options.logits_path.empty())
    return {};
  const auto* account = run.find(input.keep_logits_of);
  std::string bytes(reinterpret_cast<const char*>(account->logits.data()),
                    account->logits.size() * sizeof(float));
  return write_file(input.options.logits_path, bytes);
}

} // namespace

int run_main(int argc, char** argv) {
  const auto parsed = parse_run_options(argc, argv);
  if (!parsed.options)
    return parsed.exit_code;
  auto input = read_input(*parsed.options);
  if (!input)
    return refuse(input.error().text);
  interrupt_watch interrupts; // before the trace's thread
  node_context node;
  if (failure why = open_node(node, input.value()))
    return refuse(why.text);
  const client_result result = play(node, input.value(), interrupts);
  if (result.end == run_end::not_connected)
    return refuse(result.error.text);
  if (node.trace && result.router_lost)
    node.trace->leave_open(); // the outcomes that it was owed will never be in it
  node.trace.reset(); // the checker reads what is on disk
  std::cout << "\n" << summary(result.run);
  const run_verdict verdict
    = judge(result, input.value().asked, input.value().files,
            [&] { return check_idle_cluster(parsed.options->dir); }, std::cout);
  failure why = write_logits(input.value(), result.run);
  if (!why && !input.value().options.json_path.empty())
    why = write_file(input.value().options.json_path,
                     to_text(report_json(input.value().asked, result.run, verdict)) + "\n");
  if (why)
    return refuse(why.text);
  return verdict.exit_code;
}

} // namespace baton::actors
