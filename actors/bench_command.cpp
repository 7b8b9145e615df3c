#include "actors/bench_command.hpp"

#include "actors/bench_control.hpp"
#include "actors/bench_engine.hpp"
#include "actors/bench_hand_shake.hpp"
#include "actors/bench_processes.hpp"
#include "actors/bench_rates.hpp"
#include "actors/bench_recording.hpp"
#include "actors/bench_roles.hpp"
#include "transport/ucx_environment.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

namespace baton::actors {

namespace {

using namespace bench;

constexpr std::uint32_t lifecycles_a_round = 4'000;
constexpr std::uint32_t live_requests = 100'000;
constexpr std::uint32_t recorded_requests = 1'000;

struct arguments : rates_arguments {
  std::string model; ///< folder
  std::uint32_t threads = 2;
};

/// One bench: its name, what --help says, which options it takes, what it does.
struct bench_entry {
  const char* name;
  const char* help;
  std::vector<std::string> paths; ///< the first is the default; none: it has no choice
  bool has_ranks;
  bool has_rounds;
  const char* shrinks; ///< what --shrink divides; null: nothing
  bool has_order;      ///< of blocks in memory
  const char* model;   ///< what --model is for; null: it has none
  int (*run)(const arguments&);
};

const std::vector<std::string> byte_paths = {"pull", "tcp", "shared_memory", "shared_arena"};
const char* const blocks
  = "the count of blocks, for a small machine: what fits into its caches says little";

const bench_entry entries[] = {
  {"link", "the raw link against memcpy", byte_paths, true, true, blocks, true, nullptr,
   [](const arguments& a) { return link(a); }},
  {"handoff", "one prompt of 8,192 tokens (2.5 GiB) against the raw link", byte_paths, true, true,
   blocks, true, nullptr, [](const arguments& a) { return hand_off(a); }},
  {"burst", "32 prompts of 2,048 tokens at once (4.3 GB) against the raw link", byte_paths, true,
   true, blocks, true, nullptr, [](const arguments& a) { return burst(a); }},
  {"short", "a hand-off of 128 tokens begun behind one of 2.5 GiB, against the same alone",
   byte_paths, true, true, blocks, true, nullptr,
   [](const arguments& a) { return short_behind_long(a); }},
  {"streaming",
   "what is left of a hand-off in 16 chunks when the last one has been computed, against the last "
   "one by the raw link",
   byte_paths, true, true, blocks, true, nullptr,
   [](const arguments& a) { return streaming(a); }},
  {"handshake",
   "from the question for a reservation to the commit, of one token, against a raw CAF round trip",
   {"pull", "in_place"}, true, true, nullptr, false, nullptr,
   [](const arguments& a) { return hand_shake(a.path, a.ranks, a.rounds); }},
  {"inplace",
   "from the end of a prompt of 8,192 tokens to its commit on path in_place, against the same",
   {}, false, true, nullptr, false, nullptr,
   [](const arguments& a) { return in_place(a.rounds); }},
  {"control", "lifecycles of requests in one process, no wire, against raw CAF messages", {}, false,
   true, "the count of requests", false, nullptr,
   [](const arguments& a) { return control(a.rounds, lifecycles_a_round / a.shrink); }},
  {"live", "memory of each of 100,000 live requests at their router", {}, false, false,
   "the count of requests", false, nullptr,
   [](const arguments& a) { return live(live_requests / a.shrink); }},
  {"trace", "1,000 requests through five processes, every message recorded, against none", {},
   false, true, "the count of requests", false,
   "computes the tokens (default: the synthetic executor, which computes nothing)",
   [](const arguments& a) {
     return recording(a.model, recorded_requests / a.shrink, a.rounds);
   }},
  {"engine", "tokens a second of one rank of a model, prompt (pp) and generation (tg)", {}, false,
   true, nullptr, false, "is computed (default: deploy/models/kjv-1.6m)",
   [](const arguments& a) {
     return engine(a.model.empty() ? "deploy/models/kjv-1.6m" : a.model, a.threads, a.rounds);
   }},
};

void describe(CLI::App& app, const bench_entry& entry, arguments& args) {
  auto* bench = app.add_subcommand(entry.name, entry.help);
  if (!entry.paths.empty())
    bench->add_option("--path", args.path, "how blocks move")
      ->check(CLI::IsMember(entry.paths))
      ->capture_default_str();
  if (entry.has_ranks)
    bench->add_option("--ranks", args.ranks, "of each side")
      ->check(CLI::IsMember({1, 2, 4}))
      ->capture_default_str();
  if (entry.has_rounds)
    bench->add_option("--rounds", args.rounds, "of which the medians are said")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  if (entry.shrinks != nullptr)
    bench->add_option("--shrink", args.shrink, std::string("divides ") + entry.shrinks)
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  if (entry.paths == byte_paths) {
    bench->add_option("--integrity", args.integrity, "which pieces are digested and checked")
      ->check(CLI::IsMember({"off", "sampled", "all"}))
      ->capture_default_str();
    bench->add_option("--device", args.device, "network device of path tcp, of this name on both "
                                               "sides (default: the loopback one)");
    bench->add_option("--source-namespace", args.source_namespace,
                      "network namespace in which the sources live, by `ip netns exec`");
  }
  if (entry.model != nullptr)
    bench->add_option("--model", args.model, std::string("model folder that ") + entry.model);
  if (std::string(entry.name) == "engine")
    bench->add_option("--threads", args.threads, "of the rank")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  if (entry.has_order)
    bench->add_flag("--neighbouring", args.neighbouring,
                    "a lane's blocks follow each other in memory, instead of lying anywhere");
}

/// For the processes that are started: UCX reads its settings before main().
void set_environment(const arguments& args) {
  transport::set_ucx_environment("127.0.0.1", args.path == "tcp"             ? "tcp"
                                              : args.path == "shared_memory" ? "posix"
                                                                             : "");
  if (!args.device.empty())
    setenv("UCX_NET_DEVICES", args.device.c_str(), 1);
}

} // namespace

int bench_main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == "--role") {
    const std::string role = argv[2];
    return role == "echo" ? raw_round_trips::run_echo() : run_role(role, {argv + 3, argv + argc});
  }
  arguments args;
  CLI::App app{"Measures this machine and Baton on it, in processes of its own; one JSON object a "
               "line. Needs 8 GiB of free memory; anything else that runs disturbs it (\"idle\").",
               "baton bench"};
  for (const auto& entry : entries)
    describe(app, entry, args);
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  set_environment(args);
  const auto* chosen = std::find_if(std::begin(entries), std::end(entries), [&](const auto& e) {
    return app.got_subcommand(e.name);
  });
  return chosen->run(args);
}

} // namespace baton::actors
