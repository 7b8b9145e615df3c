#include "actors/client_output.hpp"
#include "actors/client_report.hpp"
#include "tests/actors/client_support.hpp"

#include <sstream>

using namespace client_support;
using actors::client_run;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

cluster_config cluster_of(const std::string& executor) {
  auto c = parse_cluster(R"({"name": "n", "executor": )" + executor + R"(,
    "groups": [{"name": "A", "role": "mixed", "pool_blocks": 8}]})", "cluster.json");
  REQUIRE_MESSAGE(c, c.error().text);
  return c.value();
}

} // namespace

TEST_CASE("a percentile is the nearest rank") {
  CHECK_FALSE(actors::percentile({}, 50));
  CHECK(actors::percentile({3, 1, 2}, 50) == 2.0);
  CHECK(actors::percentile({4, 3, 2, 1}, 50) == 2.0);
  CHECK(actors::percentile({4, 3, 2, 1}, 99) == 4.0);
  CHECK(actors::percentile({7}, 1) == 7.0);
}

TEST_CASE("times are those of the client's clock") {
  client_run run(requests(request("a")));
  run.start(at_ms(0));
  run.take_due(at_ms(40));
  complete(run, "a", {1, 2, 3}); // at 100, 110, 120; over at 130
  const auto t = actors::timing_of(*run.find({"a"}));
  CHECK(t.ttft_ms == 60.0);
  CHECK(t.itl_p50_ms == 10.0);
  CHECK(t.total_ms == 90.0);
  const auto totals = actors::totals_of(run);
  CHECK(totals.elapsed_s == doctest::Approx(0.09));
  CHECK(totals.tokens_per_s == doctest::Approx(3 / 0.09));
}

TEST_CASE("a short run has a line for each request") {
  client_run run(requests(request("a") + "," + request("b") + "," + request("c")));
  run.start(at_ms(0));
  run.take_due(at_ms(0));
  complete(run, "a", {1, 2});
  run.ended(ended("b", outcome_kind::refused, 0, {reason::no_capacity, "needs 9 blocks"}),
            at_ms(5));
  const std::string text = actors::summary(run);
  CAPTURE(text);
  CHECK(has(text, "a        completed   length            2    100.0        10.0     120.0"));
  CHECK(has(text, "needs 9 blocks"));
  CHECK(has(text, "c        still open  -"));
  CHECK(has(text, "requests: 3, 1 completed, 1 refused (no_capacity), 1 still open\n"));
  CHECK(has(text, "tokens: 2 in 0.120 s, 16.7 tokens/s\n"));
  CHECK(has(text, "TTFT ms: p50 100.0, p90 100.0, p99 100.0\n"));
}

TEST_CASE("a long run is summed up by outcome and reason") {
  client_run run(requests(request("r", ", \"count\": 21")));
  run.start(at_ms(0));
  run.take_due(at_ms(0));
  for (int i = 0; i < 20; ++i)
    complete(run, "r-" + std::to_string(i), {1});
  run.ended(ended("r-20", outcome_kind::failed, 0, {reason::peer_lost, "gone"}), at_ms(5));
  const std::string text = actors::summary(run);
  CAPTURE(text);
  CHECK_FALSE(has(text, "r-7"));
  CHECK(has(text, "completed  length           20      20        100.0           -         110.0"));
  CHECK(has(text, "failed     peer_lost         1       0            -           -           5.0"));
}

TEST_CASE("the JSON report holds what two runs are compared by") {
  const auto s = requests(request("a") + "," + request("b"));
  client_run run(s);
  run.start(at_ms(0));
  run.take_due(at_ms(0));
  auto f = frame("a", 0, 42);
  f.logits.values = {1.0F};
  f.kv_digest = 0xABC;
  run.frame(f, at_ms(10));
  run.text(text("a", 0, "amen"));
  run.ended(ended("a", outcome_kind::completed, 1), at_ms(20));
  actors::run_verdict verdict;
  verdict.exit_code = 1;
  verdict.failed = {"expect: b.outcome: there is none"};
  const json report = actors::report_json(s, run, verdict);
  const json& a = report["requests"][0];
  CHECK(a["id"] == "a");
  CHECK(a["tokens"] == json::array({42}));
  CHECK(a["text"] == "amen");
  CHECK(a["logits_digests"].size() == 1);
  CHECK(a["kv_digest"] == "0000000000000abc");
  CHECK(a["ttft_ms"] == 10.0);
  CHECK(a["outcome"] == "completed");
  CHECK(report["requests"][1]["outcome"].is_null());
  CHECK(report["totals"]["outcomes"]["completed"] == 1);
  CHECK(report["exit_code"] == 1);
  CHECK(report["failed"][0] == "expect: b.outcome: there is none");
}

TEST_CASE("one open request streams, several show how far the run is") {
  const auto llama = cluster_of(R"({"kind": "llama", "model": "m"})");
  const auto synthetic = cluster_of(R"({"kind": "synthetic"})");
  const auto one = requests(request("a"));
  const auto two = requests(request("a") + "," + request("b"));
  using actors::live_mode;
  CHECK(actors::live_mode_of(one, llama, false, true) == live_mode::text);
  CHECK(actors::live_mode_of(one, synthetic, false, true) == live_mode::token_ids);
  CHECK(actors::live_mode_of(two, llama, true, true) == live_mode::text);
  CHECK(actors::live_mode_of(two, llama, false, true) == live_mode::progress_line);
  CHECK(actors::live_mode_of(two, llama, false, false) == live_mode::progress_lines);
}

TEST_CASE("streams of several requests are told apart") {
  std::ostringstream out;
  std::ostringstream err;
  actors::live_output live(actors::live_mode::text, out, err);
  live.text(text("a", 0, "In"));
  live.frame(frame("a", 0, 5));
  live.text(text("a", 1, " the"));
  live.text(text("b", 0, "And"));
  live.text(text("a", 2, ""));
  live.finish();
  CHECK(out.str() == "a: In the\nb: And\n");
  CHECK(err.str().empty());
}

TEST_CASE("a shorter progress line covers the longer one before it") {
  std::ostringstream out;
  std::ostringstream err;
  actors::live_output live(actors::live_mode::progress_line, out, err);
  live.progress({0, 10, 0, 100});
  live.progress({0, 1, 9, 5});
  live.finish();
  CHECK(out.str().empty());
  CHECK(err.str() == "\r0 of 10 over, 10 open, 100 tokens\r9 of 10 over, 1 open, 5 tokens   \n");
}
