#include "actors/bench_rates.hpp"

#include "actors/bench_report.hpp"
#include "actors/bench_roles.hpp"

#include <algorithm>
#include <iostream>

namespace baton::actors::bench {

namespace {

using transport::path_kind;

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

setup setup_of(const rates_arguments& args, const workload& load) {
  setup s;
  s.path = args.path == "shared_arena" ? path_kind::shared_arena : path_kind::pull;
  s.load = load;
  s.load.neighbouring = args.neighbouring;
  s.load.check = integrity_named(args.integrity);
  s.source_namespace = args.source_namespace;
  return s;
}

/// The teaching request's share of a rank: 512 blocks of 2.5 MiB when there are two.
workload teaching(const rates_arguments& args) {
  workload load;
  load.blocks_per_lane /= args.shrink;
  load.block_bytes = (5ULL << 20) / args.ranks;
  return load;
}

/// 32 prompts of 2,048 tokens at 65,536 bytes a token, in blocks of 16 tokens.
workload thirty_two_prompts(const rates_arguments& args) {
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
int compare_rates(const char* name, const rates_arguments& args, const workload& load, step what,
                  step baseline, const char* baseline_what) {
  const idleness idle;
  measurement m{name, "", "GB/s", baseline_what, {}, {}, {}, {}};
  {
    ranks cluster(setup_of(args, load), args.ranks);
    m.path = what == step::raw ? "raw" + cluster.path().substr(cluster.path().find(' '))
                               : cluster.path();
    if (args.integrity != "off")
      m.path += ", integrity " + args.integrity;
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

int move(const char* name, const rates_arguments& args, const workload& load) {
  if (args.path == "shared_arena")
    return compare_rates(name, args, load, step::hand_off, step::copy,
                         "memcpy of the same blocks by as many processes");
  return compare_rates(name, args, load, step::hand_off, step::raw,
                       "raw active-message rendezvous of the same blocks");
}

} // namespace

int link(const rates_arguments& args) {
  return compare_rates("link", args, teaching(args), step::raw, step::copy,
                       "memcpy of the same blocks by as many processes");
}

int hand_off(const rates_arguments& args) { return move("handoff", args, teaching(args)); }

int burst(const rates_arguments& args) { return move("burst", args, thirty_two_prompts(args)); }

int short_behind_long(const rates_arguments& args) {
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
int streaming(const rates_arguments& args) {
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

} // namespace baton::actors::bench
