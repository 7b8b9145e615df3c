#include "protocol/cluster_config.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;

namespace {

const char* const teaching = R"({
  "name": "teaching",
  "executor": {"kind": "synthetic"},
  "groups": [
    {"name": "P7", "role": "prefill", "ranks": 2, "pool_blocks": 1024},
    {"name": "D3", "role": "decode", "ranks": 2, "pool_bytes": "8GiB", "decode_slots": 4}
  ]
})";

cluster_config parsed(const std::string& text) {
  const auto config = parse_cluster(text, "cluster.json");
  REQUIRE_MESSAGE(config, config.error().text);
  return config.value();
}

} // namespace

TEST_CASE("a short file gets sensible defaults") {
  const cluster_config c = parsed(teaching);
  CHECK(c.host == "127.0.0.1");
  CHECK(c.path == hand_off_path::pull);
  CHECK(c.integrity == integrity_check::all);
  CHECK(c.kv.dtype == kv_dtype::bf16);
  CHECK(c.inflight_bytes == 256ULL * 1024 * 1024);
  CHECK(c.heartbeat_ms == 500);
  CHECK(c.peer_timeout_ms == 5000);
  CHECK_FALSE(c.allow_faults);
  CHECK(c.trace);
  REQUIRE(c.tenants.size() == 1);
  CHECK(c.tenants[0].name == tenant_name{"default"});
  REQUIRE(c.groups.size() == 2);
  CHECK(c.groups[0].decode_slots == 0);
  CHECK(c.groups[0].prefill_chunk_tokens == 64);
  CHECK(c.groups[1].decode_slots == 4);
  CHECK(c.groups[1].prefill_chunk_tokens == 0);
  CHECK(c.groups[1].pool == pool_size(pool_bytes{8ULL << 30}));
  CHECK(std::get<synthetic_executor>(c.groups[1].executor) == synthetic_executor{});
}

TEST_CASE("nodes are the router and each rank, with ports from a base") {
  const auto all = nodes(parsed(std::string(teaching).insert(1, R"("ports": {"base": 4000},)")));
  REQUIRE(all.size() == 5);
  CHECK(all[0].name == node_name{"router"});
  CHECK_FALSE(all[0].group);
  CHECK(all[0].port == 4000);
  CHECK(all[4].name == node_name{"D3.1"});
  CHECK(all[4].group == group_name{"D3"});
  CHECK(all[4].rank == rank_id{1});
  CHECK(all[4].port == 4004);
}

TEST_CASE("ports can be given by node; the others are chosen at start") {
  const auto all
    = nodes(parsed(std::string(teaching).insert(1, R"("ports": {"P7.1": 5001, "D3.0": 0},)")));
  CHECK(all[0].port == 0);
  CHECK(all[2].port == 5001);
  CHECK(all[3].port == 0);
}

TEST_CASE("the resolved form writes every default and reads back equal") {
  for (const std::string extra :
       {"", R"("ports": {"router": 1, "P7.0": 2},)", R"("path": "shared_arena", "trace": false,)",
        R"("kv": {"dtype": "f32", "block_tokens": 32}, "integrity": "off",)",
        R"("tenants": [{"name": "a", "tokens_per_request_max": 100}], "allow_faults": true,)",
        R"("lease": {"ms_min": 10, "assumed_bytes_per_s": "1GiB"}, "retention_ms": 5,)",
        R"("costs": {"prefill_us_per_token": 40, "decode_us_per_token": 900},)"}) {
    CAPTURE(extra);
    const cluster_config before = parsed(std::string(teaching).insert(1, extra));
    const std::string text = resolved(before);
    CHECK(parsed(text) == before);
    CHECK(text.find("\"quarantine_blocks\"") == std::string::npos);
    CHECK(text.find("\"prefill_chunk_tokens\": 64") != std::string::npos);
    CHECK(resolved(parsed(text)) == text);
  }
}

TEST_CASE("a group may override the cluster's executor and KV format") {
  const cluster_config c = parsed(R"({
    "name": "mixed", "executor": {"kind": "llama", "model": "m", "threads": 2},
    "kv": {"block_tokens": 8},
    "groups": [
      {"name": "A", "role": "mixed", "pool_blocks": 8, "quarantine_blocks": 2},
      {"name": "B", "role": "mixed", "pool_blocks": 9, "kv": {"dtype": "f32"},
       "executor": {"kind": "synthetic", "kv_heads": 4, "decode_us_per_step": 7}}
    ]})");
  CHECK(std::get<llama_executor>(c.groups[0].executor).threads == 2);
  CHECK(c.groups[0].kv == kv_config{kv_dtype::bf16, 8});
  CHECK(c.groups[1].kv == kv_config{kv_dtype::f32, 8});
  CHECK(std::get<synthetic_executor>(c.groups[1].executor).decode_us_per_step == 7);
  CHECK(parsed(resolved(c)) == c);
  CHECK(find_group(c, {"B"}) == &c.groups[1]);
  CHECK(find_group(c, {"C"}) == nullptr);
  CHECK(find_tenant(c, {"default"}) == &c.tenants[0]);
  CHECK(find_tenant(c, {"other"}) == nullptr);
}

TEST_CASE("a pool of the teaching size holds 1,638 blocks, so three requests and not four") {
  const cluster_config c = parsed(teaching);
  const std::uint32_t blocks = blocks_of_pool(c.groups[1].pool, 5ULL * 1024 * 1024);
  CHECK(blocks == 1638);
  CHECK(blocks / 520 == 3); // (8,192 + 128) tokens in blocks of 16
  CHECK(quarantine_blocks_of(c.groups[1], blocks) == 409);
  CHECK(quarantine_blocks_of(c.groups[1], 2) == 1);
  CHECK(blocks_of_pool(pool_blocks{7}, 1) == 7);
}
