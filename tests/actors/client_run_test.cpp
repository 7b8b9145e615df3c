#include "tests/actors/client_support.hpp"

#include <algorithm>

using namespace client_support;
using actors::client_run;

namespace {

std::vector<std::string> names(const std::vector<actors::submission>& due) {
  std::vector<std::string> all;
  for (const auto& d : due)
    all.push_back(d.message.spec.external.value);
  return all;
}

using strings = std::vector<std::string>;

} // namespace

TEST_CASE("requests are submitted in the order of their times, and not before") {
  client_run run(requests(request("b", ", \"at_ms\": 20") + "," + request("a")));
  run.start(at_ms(1000));
  CHECK(names(run.take_due(at_ms(1000))) == strings{"a"});
  CHECK(run.take_due(at_ms(1019)).empty());
  CHECK(run.next_due_ms(at_ms(1019)) == 2);
  CHECK(names(run.take_due(at_ms(1020))) == strings{"b"});
  CHECK_FALSE(run.next_due_ms(at_ms(1020)));
}

TEST_CASE("no more requests are open at once than the script allows") {
  client_run run(requests(request("r", ", \"count\": 5"), ", \"max_open\": 2"));
  run.start(at_ms(0));
  CHECK(names(run.take_due(at_ms(0))) == strings{"r-0", "r-1"});
  CHECK(run.take_due(at_ms(9)).empty());
  CHECK_FALSE(run.next_due_ms(at_ms(9)));
  run.ended(ended("r-1", outcome_kind::completed, 0), at_ms(10));
  CHECK(names(run.take_due(at_ms(10))) == strings{"r-2"});
}

TEST_CASE("a full batch does not hold up another one") {
  const script s = parsed(R"({"name": "g", "generate": [
    {"id": "x", "count": 3, "max_open": 1, "prompt_length": {"min": 1, "max": 4},
     "output_tokens": {"min": 1, "max": 4}},
    {"id": "y", "count": 2, "prompt_length": {"min": 1, "max": 4},
     "output_tokens": {"min": 1, "max": 4}}]})");
  client_run run(s);
  run.start(at_ms(0));
  CHECK(names(run.take_due(at_ms(0))) == strings{"x-0", "y-0", "y-1"});
  run.ended(ended("y-0", outcome_kind::completed, 0), at_ms(1));
  CHECK(run.take_due(at_ms(1)).empty());
  run.ended(ended("x-0", outcome_kind::refused, 0), at_ms(2));
  CHECK(names(run.take_due(at_ms(2))) == strings{"x-1"});
}

TEST_CASE("every request of a long script is submitted exactly once") {
  client_run run(requests(request("r", ", \"count\": 5000"), ", \"max_open\": 7"));
  run.start(at_ms(0));
  std::size_t submitted = 0;
  while (!run.finished()) {
    const auto due = run.take_due(at_ms(0));
    CHECK(due.size() <= 7);
    submitted += due.size();
    for (const auto& name : run.open_names())
      run.ended(ended(name, outcome_kind::completed, 0), at_ms(0));
  }
  CHECK(submitted == 5000);
  CHECK(run.counts().over == 5000);
  CHECK(run.problems().empty());
}

TEST_CASE("a prompt is submitted as the script gives it") {
  client_run run(requests(R"({"id": "t", "prompt": "In the", "output_tokens": 1},
                             {"id": "i", "prompt_tokens": [5, 6], "output_tokens": 1},
                             {"id": "n", "prompt_length": 9, "output_tokens": 1})"));
  run.start(at_ms(0));
  const auto due = run.take_due(at_ms(0));
  REQUIRE(due.size() == 3);
  CHECK(due[0].message.prompt_text.text == "In the");
  CHECK(due[0].message.spec.prompt_tokens == 0);
  CHECK(due[1].message.prompt.ids == std::vector<std::int32_t>{5, 6});
  CHECK(due[1].message.spec.prompt_tokens == 2);
  CHECK(due[2].message.prompt.ids.empty());
  CHECK(due[2].message.spec.prompt_tokens == 9);
}

TEST_CASE("a gap, a repeat and a frame of nobody are errors of the run") {
  client_run run(requests(request("a")));
  run.start(at_ms(0));
  run.frame(frame("a", 0, 1), at_ms(0));
  run.take_due(at_ms(0));
  run.frame(frame("a", 0, 1), at_ms(1));
  run.frame(frame("a", 0, 1), at_ms(2));
  run.frame(frame("a", 2, 3), at_ms(3));
  run.frame(frame("z", 0, 1), at_ms(4));
  CHECK(run.problems()
        == strings{"a: frame 0 came before the request was submitted",
                   "a: frame 0 came where frame 1 was due",
                   "a: frame 2 came where frame 1 was due",
                   "z: frame 0 came, but the request is not in the script"});
  CHECK(run.find({"a"})->frames.size() == 1);
}

TEST_CASE("a second outcome, a late frame and a wrong count are errors of the run") {
  client_run run(requests(request("a")));
  run.start(at_ms(0));
  run.take_due(at_ms(0));
  run.ended(ended("a", outcome_kind::completed, 3), at_ms(1));
  run.ended(ended("a", outcome_kind::failed, 0), at_ms(2));
  run.frame(frame("a", 0, 1), at_ms(3));
  CHECK(run.problems()
        == strings{"a: ended after 3 frames, 0 came", "a: a second outcome came after the outcome",
                   "a: frame 0 came after the outcome"});
  CHECK(run.find({"a"})->end()->ended.kind == outcome_kind::completed);
}

TEST_CASE("a cancel after so many tokens comes with that frame, once") {
  client_run run(requests(request("a", R"(, "cancel": {"after_tokens": 2})")));
  run.start(at_ms(0));
  run.take_due(at_ms(0));
  CHECK_FALSE(run.frame(frame("a", 0, 1), at_ms(1)));
  const auto cancel = run.frame(frame("a", 1, 1), at_ms(2));
  REQUIRE(cancel);
  CHECK(cancel->external == external_id{"a"});
  CHECK(cancel->why.why == reason::cancelled);
  CHECK_FALSE(run.frame(frame("a", 2, 1), at_ms(3)));
}

TEST_CASE("a cancel after a time is only sent while the request is open") {
  client_run run(requests(request("a", R"(, "cancel": {"after_ms": 30})")));
  run.start(at_ms(0));
  const auto due = run.take_due(at_ms(0));
  CHECK(due[0].cancel_after_ms == 30);
  CHECK(run.cancel_when_due({"a"}));
  run.ended(ended("a", outcome_kind::cancelled, 0), at_ms(1));
  CHECK_FALSE(run.cancel_when_due({"a"}));
}

TEST_CASE("an interrupted run cancels what is open and submits nothing more") {
  client_run run(requests(request("r", ", \"count\": 3"), ", \"max_open\": 1"));
  run.start(at_ms(0));
  run.take_due(at_ms(0));
  const auto cancels = run.interrupt("enough");
  REQUIRE(cancels.size() == 1);
  CHECK(cancels[0].why.text == "enough");
  CHECK_FALSE(run.finished());
  run.ended(ended("r-0", outcome_kind::cancelled, 0), at_ms(1));
  CHECK(run.finished());
  CHECK(run.take_due(at_ms(2)).empty());
  CHECK(run.counts().waiting == 2);
}

TEST_CASE("logits are digested for each frame, and kept for one request only") {
  client_run run(requests(request("a") + "," + request("b")), {"b"});
  run.start(at_ms(0));
  run.take_due(at_ms(0));
  for (const char* id : {"a", "b"})
    for (std::uint32_t i = 0; i < 2; ++i) {
      auto f = frame(id, i, 1);
      f.logits.values = {1.0F, static_cast<float>(i)};
      run.frame(f, at_ms(1));
    }
  const auto& a = *run.find({"a"});
  const auto& b = *run.find({"b"});
  CHECK(a.logits.empty());
  CHECK(b.logits == std::vector<float>{1.0F, 0.0F, 1.0F, 1.0F});
  CHECK(a.frames[0].logits_digest == b.frames[0].logits_digest);
  CHECK(a.frames[0].logits_digest != a.frames[1].logits_digest);
}

TEST_CASE("phases are kept for requests that were accepted") {
  client_run run(requests(request("a")));
  run.start(at_ms(0));
  run.take_due(at_ms(0));
  run.accepted({{"a"}, {1, 2}});
  run.phase({{{1, 2}, 1, {1}}, attempt_phase::prefilling}, at_ms(3));
  run.phase({{{9, 9}, 1, {1}}, attempt_phase::decoding}, at_ms(4));
  const auto& phases = run.find({"a"})->phases;
  REQUIRE(phases.size() == 1);
  CHECK(phases[0].phase == attempt_phase::prefilling);
}

TEST_CASE("the loss of the router is one error, and ends the submissions") {
  client_run run(requests(request("r", ", \"count\": 3"), ", \"max_open\": 1"));
  run.start(at_ms(0));
  run.take_due(at_ms(0));
  run.router_lost("gone");
  CHECK(run.problems()
        == strings{"the router is lost (gone) with 1 requests open and 2 to submit"});
  CHECK(run.take_due(at_ms(1)).empty());
}
