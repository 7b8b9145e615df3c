// What a router makes of nodes that come and go, and of deadlines, as a trace shows it. Each case
// breaks a healthy trace in one way; the check must name the invariant.
#include "tests/protocol/conversation.hpp"
#include "tests/protocol/trace_findings.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

constexpr std::uint32_t ranks = 2;

/// A router, its membership, and the attempts that it places.
class routed {
public:
  routed() {
    expect_cluster e;
    e.groups = {{{"D3"}, group_role::decode, ranks}, {{"P7"}, group_role::prefill, ranks}};
    hear(e);
    for (const char* group : {"D3", "P7"})
      for (std::uint16_t r = 0; r < ranks; ++r)
        join(group, r, 1);
  }

  void join(const std::string& group, std::uint16_t rank, std::uint64_t life) {
    hear(node_joined{node(group, rank), {group}, {rank}, lives(group, rank, life)});
  }
  void lose(const std::string& group, std::uint16_t rank, std::uint64_t life) {
    hear(node_lost{node(group, rank), lives(group, rank, life), {reason::peer_lost, "gone"}});
  }
  void place() {
    attempt::state state;
    const attempt_id id{{1, ++attempts_}, 1, {1}};
    const auto at = [&](const auto& e) {
      const char* before = name_of(state);
      auto made = attempt::step(std::move(state), e, {});
      state = std::move(made.state);
      trace_.handled("attempt " + std::to_string(attempts_),
                     {e.type, to_json(e), before, name_of(state), names_of(made.effects)}, {});
    };
    at(start_attempt{id, {}, 0});
    for (const auto& effect : hear(place_attempt{id, {}})) {
      if (const auto* placed = std::get_if<attempt_placed>(&effect))
        at(*placed);
      if (const auto* refused = std::get_if<place_refused>(&effect))
        at(*refused);
    }
    trace_.ends_handling();
  }

  memory_trace take() { return trace_.take(false); }

private:
  static node_name node(const std::string& group, std::uint16_t rank) {
    return {group + "." + std::to_string(rank)};
  }
  static incarnation lives(const std::string& group, std::uint16_t rank, std::uint64_t life) {
    return {static_cast<std::uint64_t>(group[1]) * 10 + rank, life};
  }

  template <class Event>
  std::vector<membership::effect> hear(const Event& e) {
    const char* before = name_of(state_);
    auto made = membership::step(std::move(state_), e, {});
    state_ = std::move(made.state);
    trace_.handled("membership",
                   {Event::type, to_json(e), before, name_of(state_), names_of(made.effects)}, {});
    return std::move(made.effects);
  }

  conversation_trace trace_;
  membership::state state_;
  std::uint64_t attempts_ = 0;
};

bool is_in_order(const memory_trace& trace) {
  return check_trace(trace, trace_extent::partial).ok();
}

void drop_effects(trace_record& r) { r.effects.clear(); }

std::size_t last_of(const memory_trace& trace, const std::string& message) {
  std::size_t last = trace.records.size();
  for (std::size_t i = 0; i < trace.records.size(); ++i)
    if (trace.records[i].message == message)
      last = i;
  return last;
}

/// A request whose deadline is reached after so many steps.
memory_trace late_request(std::uint32_t steps) {
  conversation_setup setup;
  setup.deadline_ms = 500;
  conversation_trace trace;
  conversation c(setup, in_order, &trace);
  while (c.steps() < steps)
    c.advance();
  c.reach_deadline();
  c.run();
  CHECK(c.broken().empty());
  return trace.take(true);
}

} // namespace

TEST_CASE("nodes that come, go and come back, with attempts between, check: ok") {
  routed r;
  r.place();
  r.lose("P7", 1, 1);
  r.place(); // nowhere
  r.join("P7", 1, 2);
  r.lose("P7", 1, 1); // once more, late
  r.place();
  r.join("D3", 0, 2); // before its loss is noticed
  r.place();
  r.lose("D3", 0, 1);
  r.join("D3", 0, 2); // said again
  CHECK(is_in_order(r.take()));
}

TEST_CASE("a rank that is back with a new life, which nobody is told, is I10") {
  routed r;
  r.join("P7", 1, 2);
  memory_trace trace = r.take();
  drop_effects(trace.records.at(last_of(trace, "node_joined")));
  CHECK(mentions(found(trace, "I10", trace_extent::partial), "P7.1 is back"));
}

TEST_CASE("a rank that joins for the first time and is told as a loss is I10") {
  memory_trace trace = routed().take();
  trace.records.at(last_of(trace, "node_joined")).effects.emplace_back("group_lost");
  CHECK(mentions(found(trace, "I10", trace_extent::partial), "joins, and a group is told as lost"));
}

TEST_CASE("a lost rank that nobody is told of is I10") {
  routed r;
  r.lose("D3", 1, 1);
  memory_trace trace = r.take();
  drop_effects(trace.records.at(last_of(trace, "node_lost")));
  CHECK(mentions(found(trace, "I10", trace_extent::partial), "nobody is told that D3 is"));
}

TEST_CASE("a loss of a former life that is told as one of the present is I10") {
  routed r;
  r.join("P7", 1, 2);
  r.lose("P7", 1, 1);
  memory_trace trace = r.take();
  trace.records.at(last_of(trace, "node_lost")).effects.emplace_back("group_lost");
  CHECK(mentions(found(trace, "I10", trace_extent::partial), "which no rank lives any more"));
}

TEST_CASE("an attempt that is placed on a group without all its ranks is I13") {
  routed r;
  r.place();
  memory_trace trace = r.take();
  const std::size_t last = last_of(trace, "node_joined");
  CHECK(trace.records.at(last).event["group"] == "P7");
  trace.erase(last);
  CHECK(mentions(found(trace, "I13", trace_extent::partial), "P7, which misses a rank"));
}

TEST_CASE("an attempt that is placed on lives which have ended is I10") {
  routed r;
  r.join("P7", 1, 2);
  r.place();
  memory_trace trace = r.take();
  auto& placed = trace.records.at(trace.find("attempt", "attempt_placed")).event;
  placed["source"]["ranks"][1] = placed["source"]["ranks"][0];
  CHECK(mentions(found(trace, "I10", trace_extent::partial), "lives of P7 that have ended"));
}

TEST_CASE("what a router with lost records makes of its nodes is not judged") {
  routed r;
  r.lose("D3", 1, 1);
  memory_trace trace = r.take();
  drop_effects(trace.records.at(last_of(trace, "node_lost")));
  trace.all_sections.front().lost = 1;
  trace.all_sections.front().first_gap = 0; // nor replayed
  CHECK(is_in_order(trace));
}

TEST_CASE("a deadline that is reached ends its request, at any step: ok") {
  for (std::uint32_t steps = 1; steps < 60; steps += 4)
    CHECK(check_trace(late_request(steps), trace_extent::whole).ok());
}

TEST_CASE("a request that goes on after its deadline is I15") {
  memory_trace trace = late_request(20);
  drop_effects(trace.records.at(trace.find("request", "deadline_reached")));
  CHECK(mentions(found(trace, "I15"), "goes on after its deadline"));
}
