#include "actors/bench_recording.hpp"

#include "actors/bench_processes.hpp"
#include "actors/bench_report.hpp"
#include "protocol/json_codec.hpp"

#include <iostream>

namespace baton::actors::bench {

namespace {

using protocol::json;

constexpr std::uint32_t open_at_once = 16;

json executor_of(const std::string& model_folder) {
  if (!model_folder.empty())
    return {{"kind", "llama"}, {"model", model_folder}};
  return {{"kind", "synthetic"}, {"layers", 4},   {"kv_heads", 2}, {"heads", 2},
          {"head_dim", 16},      {"hidden", 32}, {"vocab", 100},   {"max_positions", 1024}};
}

std::string cluster_of(const std::string& model_folder, bool traced) {
  const json prefill{{"name", "P"}, {"role", "prefill"}, {"ranks", 2}, {"pool_blocks", 512}};
  const json decode{{"name", "D"}, {"role", "decode"}, {"ranks", 2}, {"pool_blocks", 512},
                    {"decode_slots", 16}};
  return json{{"name", "bench"},
              {"trace", traced},
              {"executor", executor_of(model_folder)},
              {"lease", {{"ms_min", 60000}}},
              {"groups", {prefill, decode}}}
    .dump();
}

std::string script_of(std::uint32_t requests) {
  return json{{"name", "bench"},
              {"max_open", open_at_once},
              {"requests",
               {{{"id", "r"},
                 {"count", requests},
                 {"prompt_length", 64},
                 {"output_tokens", 32},
                 {"ignore_eos", true},
                 {"expect", {{"outcome", "completed"}}}}}},
              {"timeout_ms", 200000}}
    .dump();
}

double requests_per_s(own_cluster& cluster, std::uint32_t requests) {
  const double begin = clock_s();
  cluster.play(script_of(requests));
  return requests / (clock_s() - begin);
}

} // namespace

int recording(const std::string& model_folder, std::uint32_t requests, std::uint32_t rounds) {
  const idleness idle;
  const char* const tokens = model_folder.empty() ? "synthetic" : "a real model";
  measurement m{"trace", std::string("pull, tp 2, ") + tokens, "requests/s",
                "the same without recording", {}, {}, {}, {}};
  {
    own_cluster traced(cluster_of(model_folder, true));
    own_cluster silent(cluster_of(model_folder, false));
    for (std::uint32_t round = 0; round <= rounds; ++round) {
      const double without = requests_per_s(silent, requests);
      const double with = requests_per_s(traced, requests);
      if (round == 0)
        continue;
      m.values.push_back(with);
      m.baselines.push_back(without);
    }
  }
  std::cout << to_json_line(m, idle.share()) << std::endl;
  return 0;
}

} // namespace baton::actors::bench
