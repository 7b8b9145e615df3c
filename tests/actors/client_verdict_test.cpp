#include "actors/client_verdict.hpp"
#include "actors/status_messages.hpp"
#include "tests/actors/client_support.hpp"

#include <sstream>

using namespace client_support;
using namespace baton::actors;

namespace {

/// A played run of one request that got one token and this outcome.
client_result played(const script& s, outcome_kind kind) {
  client_result result{run_end::played, {}, client_run(s), {}, {}};
  result.run.start(at_ms(0));
  result.run.take_due(at_ms(0));
  complete(result.run, "a", {1}, kind);
  return result;
}

pools_watch pools(std::uint32_t free) {
  auto c = parse_cluster(R"({"name": "n", "executor": {"kind": "synthetic"},
    "groups": [{"name": "A", "role": "mixed", "pool_blocks": 8}]})", "cluster.json");
  REQUIRE_MESSAGE(c, c.error().text);
  pools_watch watch(c.value());
  for (const char* name : {"router", "A.0"}) {
    node_status s;
    s.node = {name};
    watch.answered(s);
  }
  pool_status p;
  p.group = {"A"};
  p.blocks = 8;
  p.free = free;
  watch.answered(p);
  return watch;
}

const trace_checker never = []() -> outcome<trace_verdict> {
  FAIL("the trace was not to be read");
  return failure{};
};
trace_checker says(bool ok, const std::string& text) {
  return [=]() -> outcome<trace_verdict> { return trace_verdict{ok, text}; };
}

const char* const completes = R"(, "expect": {"outcome": "completed"})";

} // namespace

TEST_CASE("a run as expected exits with 0 and says nothing") {
  const auto s = requests(request("a", completes));
  std::ostringstream out;
  const auto v = judge(played(s, outcome_kind::completed), s, {}, never, out);
  CHECK(v.exit_code == 0);
  CHECK(out.str().empty());
}

TEST_CASE("a failed expectation is one line and exit code 1") {
  const auto s = requests(request("a", completes));
  std::ostringstream out;
  const auto v = judge(played(s, outcome_kind::cancelled), s, {}, never, out);
  CHECK(v.exit_code == 1);
  CHECK(out.str() == "expect: a.outcome: expected completed, got cancelled\n");
  CHECK(v.failed.size() == 1);
}

TEST_CASE("memory that is not back fails, and keeps the trace from being judged") {
  const auto s = requests(request("a"),
                          R"(, "expect": {"free_equals_capacity": true, "trace_check": true})");
  auto result = played(s, outcome_kind::completed);
  result.pools = pools(7);
  std::ostringstream out;
  CHECK(judge(result, s, {}, never, out).exit_code == 1);
  CHECK(out.str()
        == "expect: pools: not everything is back: A 7/8 blocks free\n"
           "expect: trace_check: not possible, the cluster is not idle: A 7/8 blocks free\n");
}

TEST_CASE("pools and trace show what they have shown") {
  const auto s = requests(request("a"), R"(, "expect": {"trace_check": true})");
  auto result = played(s, outcome_kind::completed);
  result.pools = pools(8);
  std::ostringstream out;
  CHECK(judge(result, s, {}, says(true, "trace check: ok\n"), out).exit_code == 0);
  CHECK(out.str()
        == "pools: free = capacity (A 8/8 blocks), no actor left\ntrace check: ok\n");
  CHECK(judge(result, s, {}, says(false, "trace check: 1 violations\n"), out).exit_code == 1);
}

TEST_CASE("runs that did not end by themselves have their own exit codes") {
  const auto s = requests(request("a", R"(, "expect": {"outcome": "failed"})"),
                          ", \"timeout_ms\": 9");
  auto result = played(s, outcome_kind::completed);
  result.open_at_end = {"a", "b"};
  std::ostringstream out;
  result.end = run_end::timed_out;
  CHECK(judge(result, s, {}, never, out).exit_code == 3);
  CHECK(out.str() == "timed out after 9 ms; open then: a, b\n");
  result.end = run_end::interrupted;
  CHECK(judge(result, s, {}, never, out).exit_code == 130);
  result.end = run_end::not_connected;
  CHECK(judge(result, s, {}, never, out).exit_code == 2);
}
