#include "actors/client_pools.hpp"
#include "actors/status_messages.hpp"
#include "tests/actors/client_support.hpp"

using namespace client_support;
using actors::pools_watch;

namespace {

cluster_config teaching() {
  auto c = parse_cluster(R"({"name": "n", "executor": {"kind": "synthetic"}, "groups": [
      {"name": "P7", "role": "prefill", "ranks": 1, "pool_blocks": 256},
      {"name": "D3", "role": "decode", "ranks": 2, "pool_blocks": 256}]})", "cluster.json");
  REQUIRE_MESSAGE(c, c.error().text);
  return c.value();
}

node_status node(const std::string& name, std::int64_t actors_open = 0) {
  node_status s;
  s.node = {name};
  s.actors_open = actors_open;
  return s;
}

pool_status pool(const std::string& group, std::uint32_t free) {
  pool_status s;
  s.group = {group};
  s.blocks = 256;
  s.free = free;
  return s;
}

void answer_nodes(pools_watch& watch) {
  for (const char* name : {"router", "P7.0", "D3.0", "D3.1"})
    watch.answered(node(name));
}

} // namespace

TEST_CASE("everything is back when every node and every pool says so") {
  pools_watch watch(teaching());
  CHECK_FALSE(watch.complete());
  answer_nodes(watch);
  watch.answered(pool("P7", 256));
  CHECK_FALSE(watch.complete());
  CHECK(watch.describe() == "pools: not everything is back: the pool of D3 does not answer");
  watch.answered(pool("D3", 256));
  CHECK(watch.all_free());
  CHECK(watch.describe()
        == "pools: free = capacity (P7 256/256 blocks, D3 256/256 blocks), no actor left");
  watch.begin_round();
  CHECK_FALSE(watch.complete());
}

TEST_CASE("what is left is named: blocks by what holds them, actors by node, silence") {
  pools_watch watch(teaching());
  watch.answered(node("router", 2));
  watch.answered(node("P7.0"));
  watch.answered(node("D3.0"));
  watch.answered(pool("P7", 256));
  pool_status d3 = pool("D3", 250);
  d3.live = 4;
  d3.quarantined = 2;
  d3.slots_used = 1;
  watch.answered(d3);
  CHECK_FALSE(watch.all_free());
  CHECK(watch.describe()
        == "pools: not everything is back: D3 250/256 blocks free (4 live, 2 quarantined, "
           "1 slots used); router has 2 actors; D3.1 does not answer");
}

TEST_CASE("a pool's waiting attempts and used slots count even when its blocks are free") {
  for (const auto member :
       {&pool_status::leased, &pool_status::waiting, &pool_status::slots_used}) {
    pools_watch watch(teaching());
    answer_nodes(watch);
    watch.answered(pool("P7", 256));
    pool_status d3 = pool("D3", 256);
    d3.*member = 1;
    watch.answered(d3);
    CHECK(watch.complete());
    CHECK_FALSE(watch.all_free());
  }
}

TEST_CASE("a pool may answer inside its node's status") {
  pools_watch watch(teaching());
  answer_nodes(watch);
  auto leader = node("P7.0");
  leader.has_pool = true;
  leader.pool = pool("P7", 256);
  watch.answered(leader);
  watch.answered(pool("D3", 256));
  CHECK(watch.all_free());
}

TEST_CASE("a round that has just begun does not call the nodes silent: the last one still counts") {
  pools_watch watch(teaching());
  answer_nodes(watch);
  watch.answered(pool("P7", 256));
  watch.answered(pool("D3", 200));
  watch.begin_round();
  watch.answered(node("router"));
  CHECK(watch.describe() == "pools: not everything is back: D3 200/256 blocks free");
  watch.note_silence();
  CHECK(watch.describe().find("D3.1 does not answer") != std::string::npos);
}
