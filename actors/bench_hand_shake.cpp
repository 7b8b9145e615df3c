#include "actors/bench_hand_shake.hpp"

#include "actors/bench_processes.hpp"
#include "actors/bench_report.hpp"

#include <iostream>

namespace baton::actors::bench {

namespace {

constexpr std::uint32_t trips_a_round = 500;
constexpr std::uint32_t hand_shakes_a_round = 100;
constexpr std::uint32_t long_prompts_a_round = 10;
constexpr const char* round_trip = "one raw CAF round trip between two processes";

using protocol::json;

json synthetic(std::uint32_t layers, std::uint32_t heads, std::uint32_t head_dim,
               std::uint32_t hidden, std::uint32_t positions) {
  return {{"kind", "synthetic"}, {"layers", layers},     {"kv_heads", heads},
          {"heads", heads},      {"head_dim", head_dim}, {"hidden", hidden},
          {"vocab", 100},        {"max_positions", positions}};
}

std::string cluster_of(const std::string& path, std::uint32_t ranks, json executor, json pool) {
  json prefill{{"name", "P"}, {"role", "prefill"}, {"ranks", ranks},
               {"prefill_chunk_tokens", 512}};
  if (path == "in_place")
    prefill["pool_blocks"] = 1;
  else
    prefill.update(pool);
  json decode{{"name", "D"}, {"role", "decode"}, {"ranks", ranks}, {"decode_slots", 4}};
  decode.update(pool);
  return json{{"name", "bench"},
              {"path", path},
              {"integrity", "off"},
              {"executor", std::move(executor)},
              {"lease", {{"ms_min", 60000}}},
              {"inflight_bytes", "4GiB"},
              {"groups", {std::move(prefill), std::move(decode)}}}
    .dump();
}

std::string script_of(std::uint32_t requests, std::uint32_t prompt_tokens) {
  return json{{"name", "bench"},
              {"max_open", 1},
              {"requests",
               {{{"id", "r"},
                 {"count", requests},
                 {"prompt_length", prompt_tokens},
                 {"output_tokens", 1},
                 {"expect", {{"outcome", "completed"}}}}}},
              {"timeout_ms", 200000}}
    .dump();
}

/// A cluster for each round, so that its trace is the round's.
int compare(measurement m, const std::string& cluster_text, const std::string& script_text,
            std::uint32_t rounds, sample_set trace_stats::*what) {
  const idleness idle;
  {
    raw_round_trips raw;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      own_cluster cluster(cluster_text);
      cluster.play(script_text);
      const double base = raw.median_ms(trips_a_round);
      trace_stats stats = cluster.stop();
      m.values.push_back(static_cast<double>((stats.*what).quantile_ns(50)) * 1e-6);
      m.baselines.push_back(base);
    }
  }
  std::cout << to_json_line(m, idle.share()) << std::endl;
  return 0;
}

} // namespace

int hand_shake(const std::string& path, std::uint32_t ranks, std::uint32_t rounds) {
  measurement m{"handshake", path + ", tp " + std::to_string(ranks), "ms", round_trip, {}, {}, {},
                {}};
  return compare(std::move(m),
                 cluster_of(path, ranks, synthetic(1, ranks, 8, 8, 64), {{"pool_blocks", 256}}),
                 script_of(hand_shakes_a_round, 1), rounds, &trace_stats::reserve_to_commit);
}

int in_place(std::uint32_t rounds) {
  measurement m{"inplace", "in_place, tp 2", "ms", round_trip, {}, {}, {}, {}};
  return compare(
    std::move(m),
    cluster_of("in_place", 2, synthetic(80, 8, 128, 8192, 65536), {{"pool_bytes", "8GiB"}}),
    script_of(long_prompts_a_round, 8192), rounds, &trace_stats::hand_off);
}

} // namespace baton::actors::bench
