#include "actors/client_expect.hpp"
#include "tests/actors/client_support.hpp"

#include <cstdio>
#include <fstream>
#include <unistd.h>

using namespace client_support;
using actors::client_run;
using actors::failed_expectations;
using strings = std::vector<std::string>;

namespace {

/// What fails of one request "a" with this expectation that got tokens 10, 11, 12.
strings failed(const std::string& expect, outcome_kind kind = outcome_kind::completed,
               failure why = {}, const actors::token_files& files = {}) {
  const script s = requests(request("a", ", \"expect\": " + expect));
  client_run run(s);
  run.start(at_ms(0));
  run.take_due(at_ms(0));
  run.text(text("a", 0, "the heaven"));
  run.text(text("a", 1, " and the earth"));
  complete(run, "a", {10, 11, 12}, kind, std::move(why));
  return failed_expectations(run, s, files);
}

} // namespace

TEST_CASE("what is not stated is not checked") {
  CHECK(failed("{}").empty());
  CHECK(failed("{}", outcome_kind::failed, {reason::internal, "x"}).empty());
}

TEST_CASE("a wrong outcome is told with its reason and words") {
  const failure expired{reason::lease_expired, "no evidence within 200 ms"};
  CHECK(failed(R"({"outcome": "completed"})").empty());
  CHECK(failed(R"({"outcome": "completed"})", outcome_kind::failed, expired)
        == strings{"a.outcome: expected completed, got failed (lease_expired: no evidence within "
                   "200 ms)"});
  CHECK(failed(R"({"outcome": "failed", "reason": "peer_lost", "message_contains": "P7"})",
               outcome_kind::failed, expired)
        == strings{"a.reason: expected peer_lost, got lease_expired: no evidence within 200 ms",
                   "a.message_contains: expected \"P7\" in \"no evidence within 200 ms\""});
  CHECK(failed(R"({"reason": "none"})").empty());
}

TEST_CASE("the first wrong token is named, and a wrong length where all others are equal") {
  CHECK(failed(R"({"tokens": [10, 11, 12], "token_count": 3})").empty());
  CHECK(failed(R"({"tokens": [10, 402, 12]})")
        == strings{"a.tokens: token 1: expected 402, got 11"});
  CHECK(failed(R"({"tokens": [10, 11]})")
        == strings{"a.tokens: expected 2 tokens, got 3, equal as far as they go"});
  CHECK(failed(R"({"token_count": 4})") == strings{"a.token_count: expected 4, got 3"});
}

TEST_CASE("text may come in pieces") {
  CHECK(failed(R"({"text_contains": "heaven and"})").empty());
  CHECK(failed(R"({"text_contains": "hell"})")
        == strings{"a.text_contains: the answer does not contain \"hell\""});
}

TEST_CASE("tokens are held against a file") {
  CHECK(failed(R"({"tokens_file": "f"})", outcome_kind::completed, {}, {{"f", {10, 11, 12}}})
          .empty());
  CHECK(failed(R"({"tokens_file": "f"})", outcome_kind::completed, {}, {{"f", {10, 11, 13}}})
        == strings{"a.tokens: token 2: expected 13, got 12"});
}

TEST_CASE("token files are int32s, and what is wrong with them is said") {
  char folder[] = "/tmp/baton_tokens_XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/t.i32";
  const auto s = requests(request("a", R"(, "expect": {"tokens_file": "t.i32"})"));
  CHECK(actors::read_token_files(s, folder).error().text.find("request a: expect.tokens_file: ")
        == 0);
  std::ofstream(path, std::ios::binary) << std::string("\x01\0\0\0\x00\x01\0\0", 8);
  const auto files = actors::read_token_files(s, folder);
  REQUIRE(files);
  CHECK(files.value().at("t.i32") == std::vector<std::int32_t>{1, 256});
  std::ofstream(path, std::ios::binary) << "seven b";
  CHECK(actors::read_token_file(path).error().text == path + ": 7 bytes are no int32s");
  std::remove(path.c_str());
  rmdir(folder);
}

TEST_CASE("same_as compares two requests of the run") {
  const auto s = requests(request("a") + "," + request("b", R"(, "expect": {"same_as": "a"})"));
  for (const std::int32_t last : {12, 13}) {
    client_run run(s);
    run.start(at_ms(0));
    run.take_due(at_ms(0));
    complete(run, "a", {10, 11, 12});
    complete(run, "b", {10, 11, last});
    const auto lines = failed_expectations(run, s, {});
    CHECK(lines
          == (last == 12 ? strings{}
                         : strings{"b.same_as: against a: token 2: expected 12, got 13"}));
  }
}

TEST_CASE("a request without outcome fails, and script-level counts are exact") {
  const auto s = requests(request("a") + "," + request("b") + "," + request("c"),
                          R"(, "expect": {"outcomes": {"completed": 2, "failed": 0},
                                          "refused_count": 0})");
  client_run run(s);
  run.start(at_ms(0));
  run.take_due(at_ms(0));
  complete(run, "a", {1});
  run.ended(ended("b", outcome_kind::refused, 0, {reason::no_capacity, "full"}), at_ms(5));
  CHECK(failed_expectations(run, s, {})
        == strings{"c.outcome: there is none", "outcomes.completed: expected 2, got 1",
                   "refused_count: expected 0, got 1"});
}
