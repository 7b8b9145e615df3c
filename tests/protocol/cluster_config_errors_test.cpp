#include "protocol/cluster_config.hpp"

#include "protocol/json_codec.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;

namespace {

json good() {
  return parse_text(R"({
    "name": "teaching", "executor": {"kind": "synthetic"},
    "groups": [{"name": "P7", "role": "prefill", "ranks": 2, "pool_blocks": 1024},
               {"name": "D3", "role": "decode", "ranks": 2, "pool_blocks": 1024}]})")
    .value();
}

std::string error_of(const std::string& text) {
  const auto config = parse_cluster(text, "cluster.json");
  CHECK((config.ok() || config.error().why == reason::bad_input));
  return config ? "accepted" : config.error().text;
}

std::string error_with(const std::string& where, const json& value) {
  json file = good();
  file[json::json_pointer(where)] = value;
  return error_of(to_text(file));
}

std::string error_without(const char* object, const char* name) {
  json file = good();
  file[json::json_pointer(object)].erase(name);
  return error_of(to_text(file));
}

struct mistake {
  std::string where;
  json value;
  std::string error;
};

void check_each(const std::vector<mistake>& mistakes) {
  for (const mistake& m : mistakes) {
    CAPTURE(m.where);
    CHECK(error_with(m.where, m.value) == "cluster.json: " + m.error);
  }
}

} // namespace

TEST_CASE("the file that the other cases damage is accepted") {
  CHECK(error_of(to_text(good())) == "accepted");
}

TEST_CASE("cluster files that are not JSON objects are refused") {
  CHECK(error_of("").find("cluster.json: not JSON: parse error at line 1, column 1") == 0);
  CHECK(error_of("{\"name\": }").find("cluster.json: not JSON: parse error at line 1, column 10")
        == 0);
  CHECK(error_of("[]") == "cluster.json: expected an object, got array");
  CHECK(error_of("{\"name\": \"a\", \"name\": \"b\"}")
        == "cluster.json: field \"name\" is written twice");
  CHECK(error_of(std::string(1 << 21, ' ')) == "cluster.json: longer than 1048576 bytes");
}

TEST_CASE("each mistake in a group names file, field and reason") {
  check_each({
    {"/groups/1/ranks", 3, "groups[1].ranks: expected 1, 2 or 4, got 3"},
    {"/groups/1/ranks", -1, "groups[1].ranks: expected 1, 2 or 4, got -1"},
    {"/groups/0/role", "refill",
     "groups[0].role: expected prefill, decode or mixed, got \"refill\""},
    {"/groups/0/name", "P 7", "groups[0].name: expected letters, digits, - and _, got \"P 7\""},
    {"/groups/0/name", "", "groups[0].name: expected 1 to 64 characters, got \"\""},
    {"/groups/0/name", "D3", "groups[1].name: \"D3\" is taken"},
    {"/groups/0/name", "router", "groups[0].name: \"router\" is taken"},
    {"/groups/0/role", "decode", "groups: expected at least one prefill or mixed group"},
    {"/groups/1/role", "prefill", "groups: expected at least one decode or mixed group"},
    {"/groups", json::object(), "groups: expected an array, got object"},
    {"/groups/0", 7, "groups[0]: expected an object, got 7"},
    {"/groups/0/pool_blocks", 0, "groups[0].pool_blocks: expected 1 to 4194304, got 0"},
    {"/groups/0/pool_bytes", "4GiB",
     "groups[0].pool_bytes: excludes pool_blocks: write one of pool_blocks, pool_bytes"},
    {"/groups/0/decode_slots", 8, "groups[0].decode_slots: a prefill group has none"},
    {"/groups/1/decode_slots", 65, "groups[1].decode_slots: expected 1 to 64, got 65"},
    {"/groups/1/prefill_chunk_tokens", 64,
     "groups[1].prefill_chunk_tokens: a decode group has none"},
    {"/groups/1/quarantine_blocks", 1025,
     "groups[1].quarantine_blocks: expected at most the pool's 1024 blocks, got 1025"},
    {"/groups/0/rank", 2, "groups[0].rank: unknown field; did you mean ranks?"},
    {"/groups/0/zzzzzzzz", 2, "groups[0].zzzzzzzz: unknown field"},
  });
}

TEST_CASE("each mistake in the rest of a cluster file names file, field and reason") {
  check_each({
    {"/grups", json::array(), "grups: unknown field; did you mean groups?"},
    {"/path", "push",
     "path: expected pull, shared_arena, in_place, loopback or measured, got \"push\""},
    {"/prefer", "pull", "prefer: expected only where path is measured; a path by name is required"},
    {"/prefer", "loopback", "prefer: expected in_place, shared_arena or pull, got \"loopback\""},
    {"/path_costs", json::array({{{"path", "ib"}}}),
     "path_costs[0].path: expected pull, shared_arena, in_place or loopback, got \"ib\""},
    {"/transport", "ib", "transport: expected any, cma, shared_memory or tcp, got \"ib\""},
    {"/integrity", true, "integrity: expected off, sampled or all, got true"},
    {"/kv", {{"dtype", "fp8"}}, "kv.dtype: expected f32 or bf16, got \"fp8\""},
    {"/kv", {{"block_tokens", 0}}, "kv.block_tokens: expected 1 to 256, got 0"},
    {"/executor/kind", "gpt", "executor.kind: expected llama or synthetic, got \"gpt\""},
    {"/executor", {{"kind", "llama"}}, "executor.model: missing"},
    {"/executor/threads", 2, "executor.threads: unknown field; did you mean heads?"},
    {"/executor/heads", 9, "executor.heads: expected a multiple of kv_heads 8, got 9"},
    {"/executor/kv_heads", 1, "groups[0].ranks: 1 KV heads cannot be divided among 2 ranks"},
    {"/heartbeat_ms", 0, "heartbeat_ms: expected 1 to 60000, got 0"},
    {"/peer_timeout_ms", 0, "peer_timeout_ms: expected 1 to 60000, got 0"},
    {"/peer_timeout_ms", 999,
     "peer_timeout_ms: expected at least two heartbeats (1000 ms), got 999"},
    {"/lease", {{"ms_min", 500}, {"ms_max", 400}},
     "lease.ms_min: expected at most ms_max 400, got 500"},
    {"/lease", {{"assumed_bytes_per_s", 0.5}},
     "lease.assumed_bytes_per_s: expected 1 to 70368744177664, got 0.5"},
    {"/costs", {{"prefill_us_per_token", 0}},
     "costs.prefill_us_per_token: expected 1 to 10000000, got 0"},
    {"/costs", {{"prefil_us_per_token", 5}},
     "costs.prefil_us_per_token: unknown field; did you mean prefill_us_per_token?"},
    {"/inflight_bytes", "12MB",
     "inflight_bytes: expected bytes as an integer, or a size such as \"64MiB\", got \"12MB\""},
    {"/inflight_bytes", "99999999999999GiB",
     "inflight_bytes: expected bytes as an integer, or a size such as \"64MiB\", got "
     "\"99999999999999GiB\""},
    {"/offer_window_bytes", "1GiB",
     "offer_window_bytes: expected at most inflight_bytes 268435456, got 1073741824"},
    {"/tenants", json::array(), "tenants: expected at least one tenant"},
    {"/tenants", {{{"name", "a"}}, {{"name", "a"}}}, "tenants[1].name: \"a\" is taken"},
    {"/tenants", {{{"requests_open_max", 5}}}, "tenants[0].name: missing"},
    {"/ports", {{"base", 65'533}},
     "ports.base: expected room for 5 ports up to 65535, got 65533"},
    {"/ports", {{"P7.2", 1}}, "ports.P7.2: no such node; did you mean P7.0?"},
    {"/ports", {{"P7.0", 9}, {"router", 9}}, "ports.router: port 9 is taken"},
    {"/ports", {{"P7.0", 65'536}}, "ports.P7.0: expected 0 to 65535, got 65536"},
    {"/allow_faults", "yes", "allow_faults: expected true or false, got \"yes\""},
    {"/name", 5, "name: expected a string, got 5"},
  });
}

TEST_CASE("missing fields are named") {
  CHECK(error_without("", "name") == "cluster.json: name: missing");
  CHECK(error_without("", "groups")
        == "cluster.json: groups: expected at least one prefill or mixed group");
  CHECK(error_without("", "executor")
        == "cluster.json: groups[0].executor: missing, and the cluster has none");
  CHECK(error_without("/executor", "kind") == "cluster.json: executor.kind: missing");
  CHECK(error_without("/groups/0", "role") == "cluster.json: groups[0].role: missing");
  CHECK(error_without("/groups/0", "pool_blocks")
        == "cluster.json: groups[0]: expected one of pool_blocks, pool_bytes");
}

TEST_CASE("a pool of bytes must hold a block, and no more than a pool may have") {
  json file = good();
  file["groups"][0].erase("pool_blocks");
  file["groups"][0]["pool_bytes"] = "4MiB";
  CHECK(error_of(to_text(file))
        == "cluster.json: groups[0].pool_bytes: expected at least one block of 5242880 bytes, got "
           "4194304");
  file["groups"][0]["pool_bytes"] = "20481GiB";
  CHECK(error_of(to_text(file))
        == "cluster.json: groups[0].pool_bytes: expected at most 4194304 blocks of 5242880 bytes, "
           "got 21991306297344, which are 4194508");
  file["groups"][0]["pool_bytes"] = "20480GiB";
  CHECK(error_of(to_text(file)) == "accepted");
}

namespace {

json in_place() {
  json file = good();
  file["path"] = "in_place";
  return file;
}

/// What the file says when one group's field differs from the other's.
std::string in_place_error(const char* where, const json& value) {
  json file = in_place();
  file[json::json_pointer(where)] = value;
  return error_of(to_text(file));
}

} // namespace

TEST_CASE("path in_place takes one prefill and one decode group") {
  CHECK(error_of(to_text(in_place())) == "accepted");
  const std::string refused
    = "cluster.json: groups: path in_place joins one prefill and one decode group";
  CHECK(in_place_error("/groups/1/role", "mixed") == refused);
  CHECK(in_place_error("/groups/2", {{"name", "P8"}, {"role", "prefill"}, {"pool_blocks", 64}})
        == refused);
}

TEST_CASE("path in_place refuses groups whose blocks differ, by the field's name") {
  const std::string layout = "path in_place needs the layout of group P7: expected ";
  CHECK(in_place_error("/groups/1/ranks", 1)
        == "cluster.json: groups[1].ranks: " + layout + "2, got 1");
  CHECK(in_place_error("/groups/1/kv", {{"dtype", "f32"}})
        == "cluster.json: groups[1].kv.dtype: " + layout + "bf16, got f32");
  CHECK(in_place_error("/groups/1/kv", {{"block_tokens", 32}})
        == "cluster.json: groups[1].kv.block_tokens: " + layout + "16, got 32");
  for (const char* field : {"layers", "kv_heads", "head_dim", "hidden"}) {
    const std::string error
      = in_place_error("/groups/1/executor", {{"kind", "synthetic"}, {field, 16}});
    CHECK(error.find(std::string("cluster.json: groups[1].executor.") + field + ": " + layout)
          == 0);
  }
  CHECK(in_place_error("/groups/1/executor", {{"kind", "llama"}, {"model", "m"}})
        == "cluster.json: groups[1].executor.kind: " + layout + "synthetic, got llama");
  json models = in_place();
  models["executor"] = {{"kind", "llama"}, {"model", "a"}};
  models["groups"][1]["executor"] = {{"kind", "llama"}, {"model", "b"}};
  CHECK(error_of(to_text(models)) == "cluster.json: groups[1].executor.model: " + layout
                                       + "a, got b");
}
