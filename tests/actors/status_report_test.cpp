#include "actors/status_messages.hpp"
#include "actors/status_report.hpp"
#include "tests/actors/client_support.hpp"

using namespace client_support;
using namespace baton::actors;

namespace {

cluster_config teaching() {
  auto c = parse_cluster(R"({"name": "n", "executor": {"kind": "synthetic"}, "groups": [
      {"name": "P7", "role": "prefill", "ranks": 1, "pool_blocks": 256},
      {"name": "D3", "role": "decode", "ranks": 1, "pool_blocks": 128}]})", "cluster.json");
  REQUIRE_MESSAGE(c, c.error().text);
  return c.value();
}

cluster_answers all_but_one() {
  cluster_answers answers;
  for (const char* name : {"router", "P7.0"}) {
    node_status s;
    s.node = {name};
    s.bytes_landed = 4096;
    s.paths = "D3.0 pull posix/cma";
    answers.take(s);
  }
  pool_status pool;
  pool.group = {"P7"};
  pool.blocks = 256;
  pool.free = 200;
  pool.block_bytes = 1 << 20;
  answers.take(pool);
  return answers;
}

} // namespace

TEST_CASE("the status of a cluster lists groups and nodes in the order of its file") {
  const std::string text = status_text(teaching(), all_but_one());
  CHECK(text.find("P7     prefill      1     256   200       0") != std::string::npos);
  CHECK(text.find("router       0          4096") != std::string::npos);
  CHECK(text.find("\nP7.0") < text.find("\nD3.0"));
}

TEST_CASE("who does not answer is said in the status, and it is not complete") {
  cluster_answers answers = all_but_one();
  CHECK_FALSE(answers.complete_for(teaching()));
  const json said = status_json(teaching(), answers);
  CHECK(said["groups"][0]["free"] == 200);
  CHECK(said["groups"][1]["silent"] == true);
  CHECK(said["nodes"][2] == json{{"node", "D3.0"}, {"silent", true}});
  node_status last;
  last.node = {"D3.0"};
  last.has_pool = true;
  last.pool.group = {"D3"};
  answers.take(last);
  CHECK(answers.complete_for(teaching()));
}
