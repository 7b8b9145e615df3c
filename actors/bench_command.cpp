#include "actors/bench_command.hpp"

#include "actors/bench_control.hpp"
#include "actors/bench_report.hpp"
#include "actors/bench_roles.hpp"
#include "transport/ucx_environment.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace baton::actors {

namespace {

using namespace bench;
using transport::path_kind;

struct arguments {
  std::string path = "pull";
  std::uint32_t ranks = 2;
  std::uint32_t rounds = 5;
  std::uint32_t shrink = 1;
  bool neighbouring = false;
};

/// One destination for each rank, each with its source; they end with this.
class ranks {
public:
  ranks(const setup& s, std::uint32_t count) {
    for (std::uint32_t r = 0; r < count; ++r)
      all_.push_back(start_partner("destination", to_arguments(s)));
    for (auto& rank : all_) {
      const auto name = rank.pipe.receive_bytes();
      path_.assign(reinterpret_cast<const char*>(name.data()), name.size());
    }
  }
  ~ranks() {
    for (auto& rank : all_)
      end_partner(std::move(rank));
  }
  ranks(const ranks&) = delete;

  /// Every rank at once; seconds until the last has done it, and CPU seconds of their processes.
  double all(step what, cpu_seconds& cpu) {
    const double source_s = cpu_s(step::source_cpu);
    const double destination_s = cpu_s(step::destination_cpu);
    const double begin = clock_s();
    for (auto& rank : all_)
      rank.pipe.send(static_cast<std::uint64_t>(what));
    for (auto& rank : all_)
      rank.pipe.receive();
    const double took = clock_s() - begin;
    cpu.source.push_back(cpu_s(step::source_cpu) - source_s);
    cpu.destination.push_back(cpu_s(step::destination_cpu) - destination_s);
    return took;
  }

  /// The first rank alone; its answer.
  std::uint64_t first(step what) {
    all_.front().pipe.send(static_cast<std::uint64_t>(what));
    return all_.front().pipe.receive();
  }

  /// Every rank at once; the greatest of their answers.
  std::uint64_t greatest(step what) {
    for (auto& rank : all_)
      rank.pipe.send(static_cast<std::uint64_t>(what));
    std::uint64_t answer = 0;
    for (auto& rank : all_)
      answer = std::max(answer, rank.pipe.receive());
    return answer;
  }

  const std::string& path() const { return path_; }

private:
  /// CPU seconds that the processes of one side have used so far, each.
  double cpu_s(step of_side) {
    double sum = 0;
    for (auto& rank : all_) {
      rank.pipe.send(static_cast<std::uint64_t>(of_side));
      sum += static_cast<double>(rank.pipe.receive()) * 1e-9;
    }
    return sum / static_cast<double>(all_.size());
  }

  std::vector<partner> all_;
  std::string path_;
};

setup setup_of(const arguments& args, const workload& load) {
  setup s;
  s.path = args.path == "shared_arena" ? path_kind::shared_arena : path_kind::pull;
  s.load = load;
  s.load.neighbouring = args.neighbouring;
  return s;
}

/// The teaching request's share of a rank: 512 blocks of 2.5 MiB when there are two.
workload teaching(const arguments& args) {
  workload load;
  load.blocks_per_lane /= args.shrink;
  load.block_bytes = (5ULL << 20) / args.ranks;
  return load;
}

/// 32 prompts of 2,048 tokens at 65,536 bytes a token, in blocks of 16 tokens.
workload thirty_two_prompts(const arguments& args) {
  workload load;
  load.lanes = 32;
  load.blocks_per_lane = std::max(1U, 128 / args.shrink);
  load.block_bytes = (1ULL << 20) / args.ranks;
  return load;
}

int print(const measurement& m, const idleness& idle) {
  std::cout << to_json_line(m, idle.share()) << std::endl;
  return 0;
}

/// Payload rates of `what` against those of `baseline`, in turns.
int compare_rates(const char* name, const arguments& args, const workload& load, step what,
                  step baseline, const char* baseline_what) {
  const idleness idle;
  measurement m{name, "", "GB/s", baseline_what, {}, {}, {}, {}};
  {
    ranks cluster(setup_of(args, load), args.ranks);
    m.path = what == step::raw ? "raw" + cluster.path().substr(cluster.path().find(' '))
                               : cluster.path();
    const double gigabytes = static_cast<double>(load.bytes()) * args.ranks / 1e9;
    for (std::uint32_t round = 0; round <= args.rounds; ++round) {
      cpu_seconds unused;
      const bool counts = round > 0; // before that wires are set up, and pages are met
      const double base = gigabytes / cluster.all(baseline, counts ? m.baseline_cpu : unused);
      if (what == step::hand_off)
        cluster.all(step::prepare, unused);
      const double value = gigabytes / cluster.all(what, counts ? m.cpu : unused);
      if (!counts)
        continue;
      m.baselines.push_back(base);
      m.values.push_back(value);
    }
  }
  return print(m, idle);
}

int link(const arguments& args) {
  return compare_rates("link", args, teaching(args), step::raw, step::copy,
                       "memcpy of the same blocks by as many processes");
}

int hand_off(const char* name, const arguments& args, const workload& load) {
  if (args.path == "shared_arena")
    return compare_rates(name, args, load, step::hand_off, step::copy,
                         "memcpy of the same blocks by as many processes");
  return compare_rates(name, args, load, step::hand_off, step::raw,
                       "raw active-message rendezvous of the same blocks");
}

int short_behind_long(const arguments& args) {
  const idleness idle;
  workload load = teaching(args);
  load.short_lane_blocks = 8; // 128 tokens
  measurement m{"short", "", "ms", "the same hand-off of 128 tokens alone", {}, {}, {}, {}};
  {
    ranks cluster(setup_of(args, load), 1);
    m.path = cluster.path();
    for (std::uint32_t round = 0; round <= args.rounds; ++round) {
      const double alone = static_cast<double>(cluster.first(step::short_alone)) * 1e-6;
      const double behind = static_cast<double>(cluster.first(step::short_behind_long)) * 1e-6;
      if (round == 0)
        continue;
      m.baselines.push_back(alone);
      m.values.push_back(behind);
    }
  }
  return print(m, idle);
}

/// The slowest rank's tail against the slowest rank's raw transfer of the same chunk.
int streaming(const arguments& args) {
  const idleness idle;
  measurement m{"streaming", "", "ms", "the last chunk by raw active-message rendezvous", {}, {},
                {}, {}};
  {
    ranks cluster(setup_of(args, teaching(args)), args.ranks);
    m.path = cluster.path();
    for (std::uint32_t round = 0; round <= args.rounds; ++round) {
      const double chunk = static_cast<double>(cluster.greatest(step::raw_chunk)) * 1e-6;
      const double tail = static_cast<double>(cluster.greatest(step::stream)) * 1e-6;
      if (round == 0)
        continue;
      m.baselines.push_back(chunk);
      m.values.push_back(tail);
    }
  }
  return print(m, idle);
}

void describe(CLI::App& app, arguments& args) {
  const auto add = [&](const char* name, const char* help) {
    auto* bench = app.add_subcommand(name, help);
    bench->add_option("--path", args.path, "how blocks move")
      ->check(CLI::IsMember({"pull", "tcp", "shared_arena"}))
      ->capture_default_str();
    bench->add_option("--ranks", args.ranks, "pairs of processes at once")
      ->check(CLI::IsMember({1, 2, 4}))
      ->capture_default_str();
    bench->add_option("--rounds", args.rounds, "of which the medians are said")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
    bench->add_option("--shrink", args.shrink,
                      "divides the count of blocks, for a small machine: what fits into its caches "
                      "says little")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
    bench->add_flag("--neighbouring", args.neighbouring,
                    "a lane's blocks follow each other in memory, instead of lying anywhere");
  };
  add("link", "the raw link against memcpy");
  add("handoff", "one prompt of 8,192 tokens (2.5 GiB) against the raw link");
  add("burst", "32 prompts of 2,048 tokens at once (4.3 GB) against the raw link");
  add("short", "a hand-off of 128 tokens begun behind one of 2.5 GiB, against the same alone");
  add("streaming", "what is left of a hand-off in 16 chunks when the last one has been computed, "
                   "against the last one by the raw link");
}

void describe_control(CLI::App& app, arguments& args) {
  auto* bench = app.add_subcommand("control", "lifecycles of requests in one process, no bytes "
                                              "moved, against raw CAF messages");
  bench->add_option("--rounds", args.rounds, "of which the medians are said")
    ->check(CLI::Range(1, 1000))
    ->capture_default_str();
  bench->add_option("--shrink", args.shrink, "divides the count of requests")
    ->check(CLI::Range(1, 64))
    ->capture_default_str();
  bench = app.add_subcommand("live", "memory of each of 100,000 live requests at their router");
  bench->add_option("--shrink", args.shrink, "divides the count of requests")
    ->check(CLI::Range(1, 64))
    ->capture_default_str();
}

/// For the processes that are started: UCX reads its settings before main().
void set_environment(const arguments& args) {
  transport::set_ucx_environment();
  if (args.path == "tcp")
    setenv("UCX_TLS", "tcp", 1);
}

} // namespace

int bench_main(int argc, char** argv) {
  if (argc > 3 && std::string(argv[1]) == "--role")
    return run_role(argv[2], {argv + 3, argv + argc});
  arguments args;
  CLI::App app{"Measures this machine and Baton on it, in processes of its own; one JSON object a "
               "line. Needs 8 GiB of free memory; anything else that runs disturbs it (\"idle\").",
               "baton bench"};
  describe(app, args);
  describe_control(app, args);
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  set_environment(args);
  if (app.got_subcommand("link"))
    return link(args);
  if (app.got_subcommand("handoff"))
    return hand_off("handoff", args, teaching(args));
  if (app.got_subcommand("burst"))
    return hand_off("burst", args, thirty_two_prompts(args));
  if (app.got_subcommand("streaming"))
    return streaming(args);
  if (app.got_subcommand("live"))
    return live(100'000 / args.shrink);
  if (app.got_subcommand("control"))
    return control(args.rounds, std::max(1U, 4000 / args.shrink));
  return short_behind_long(args);
}

} // namespace baton::actors
