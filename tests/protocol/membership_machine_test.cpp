#include "protocol/membership.hpp"

#include "tests/protocol/hand_off_samples.hpp"
#include "tests/protocol/machine_table.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

struct machine {
  using state = membership::state;
  using event = membership::event;
  static membership::step_result step(state before, const event& event) {
    return membership::step(std::move(before), event, {});
  }
  static const char* name_of(const state& s) { return membership::name_of(s); }
};

using state = membership::state;

state after(state s, const std::vector<membership::event>& events) {
  for (const auto& e : events)
    s = machine::step(std::move(s), e).state;
  return s;
}

node_joined join(const std::string& group, std::uint16_t rank, std::uint64_t life) {
  return {{group + "." + std::to_string(rank)}, {group}, {rank}, {life, rank}};
}

expect_cluster expected() {
  return {{{{"P7"}, group_role::prefill, 2}, {{"D3"}, group_role::decode, 1}},
          {{{"tenant-1"}, 1, 1000}},
          2};
}

request_arrived arrival(std::uint64_t number, const std::string& tenant = "tenant-1") {
  request_arrived e{{0, number}, sample_spec()};
  e.spec.tenant = {tenant};
  return e;
}

place_attempt placement(std::uint32_t ordinal = 1) {
  return {sample_attempt(ordinal), sample_spec()};
}

node_lost loss(std::uint16_t rank, std::uint64_t life) {
  return {{"P7." + std::to_string(rank)}, {life, rank}, {reason::peer_lost, "silent"}};
}

state nascent() { return {}; }
state forming() { return after(nascent(), {expected(), join("P7", 0, 7), join("D3", 0, 3)}); }
state formed() { return after(forming(), {join("P7", 1, 7)}); }
state busy() { return after(formed(), {arrival(1), placement()}); }
state maimed() { return after(busy(), {loss(1, 7)}); }

std::vector<labelled<membership::event>> every_event() {
  return {
    {"expect_cluster", expected()},
    {"node_joined", join("P7", 1, 7)},
    {"node_joined, new life", join("P7", 0, 8)},
    {"node_joined, unknown group", join("P9", 0, 1)},
    {"node_lost", loss(0, 7)},
    {"node_lost, another life", loss(0, 6)},
    {"request_arrived", arrival(2)},
    {"request_arrived, unknown tenant", arrival(2, "nobody")},
    {"request_gone", request_gone{{0, 1}}},
    {"place_attempt", placement(2)},
    {"place_attempt, placed before", placement()},
    {"attempt_drained", attempt_drained{sample_attempt()}},
  };
}

void table(const state& s, const std::string& expected) {
  check_table<machine>(s, every_event(), expected);
}

} // namespace

TEST_CASE("a router that knows no cluster admits and places nothing") {
  table(nascent(), R"(
    expect_cluster -> same
    node_joined -> same
    node_joined, new life -> same
    node_joined, unknown group -> same
    node_lost -> same
    node_lost, another life -> same
    request_arrived -> forming: request_refused
    request_arrived, unknown tenant -> forming: request_refused
    request_gone -> same
    place_attempt -> forming: place_refused
    place_attempt, placed before -> forming: place_refused
    attempt_drained -> same
  )");
}

TEST_CASE("an attempt is placed on whole groups only") {
  table(forming(), R"(
    expect_cluster -> same
    node_joined -> formed: cluster_formed
    node_joined, new life -> forming: group_lost
    node_joined, unknown group -> same
    node_lost -> forming: group_lost
    node_lost, another life -> same
    request_arrived -> forming: request_admitted
    request_arrived, unknown tenant -> forming: request_refused
    request_gone -> same
    place_attempt -> forming: place_refused
    place_attempt, placed before -> forming: place_refused
    attempt_drained -> same
  )");
}

TEST_CASE("a formed cluster admits within its quotas") {
  table(formed(), R"(
    expect_cluster -> same
    node_joined -> same
    node_joined, new life -> formed: group_lost
    node_joined, unknown group -> same
    node_lost -> formed: group_lost
    node_lost, another life -> same
    request_arrived -> formed: request_admitted
    request_arrived, unknown tenant -> formed: request_refused
    request_gone -> same
    place_attempt -> formed: attempt_placed
    place_attempt, placed before -> formed: attempt_placed
    attempt_drained -> same
  )");
}

TEST_CASE("a tenant at its limit is refused") {
  table(busy(), R"(
    expect_cluster -> same
    node_joined -> same
    node_joined, new life -> formed: group_lost
    node_joined, unknown group -> same
    node_lost -> formed: group_lost
    node_lost, another life -> same
    request_arrived -> formed: request_refused
    request_arrived, unknown tenant -> formed: request_refused
    request_gone -> same
    place_attempt -> formed: attempt_placed
    place_attempt, placed before -> formed: attempt_placed
    attempt_drained -> same
  )");
}

TEST_CASE("a group that lost a rank is not whole until the rank's next life joins") {
  table(maimed(), R"(
    expect_cluster -> same
    node_joined -> same
    node_joined, new life -> formed: group_lost
    node_joined, unknown group -> same
    node_lost -> formed: group_lost
    node_lost, another life -> same
    request_arrived -> formed: request_refused
    request_arrived, unknown tenant -> formed: request_refused
    request_gone -> same
    place_attempt -> formed: place_refused
    place_attempt, placed before -> formed: attempt_placed
    attempt_drained -> same
  )");
}

TEST_CASE("a node that restarts before its loss is noticed loses its group's attempts first") {
  const auto result = machine::step(busy(), join("P7", 0, 8));
  const auto& lost = std::get<group_lost>(result.effects.at(0));
  CHECK(lost.group == group_name{"P7"});
  CHECK(lost.why.why == reason::stale_incarnation);
  CHECK(machine::step(result.state, loss(0, 7)).effects.empty()); // the old life is told late
}

TEST_CASE("a repeated placement or arrival is counted once") {
  const state s = after(busy(), {placement(), arrival(1)});
  CHECK(s.groups.at({"D3"}).attempts == 1);
  CHECK(s.open_by_tenant.at({"tenant-1"}) == 1);
  const state idle = after(s, {attempt_drained{sample_attempt()}, attempt_drained{sample_attempt()},
                               request_gone{{0, 1}}, request_gone{{0, 1}}});
  CHECK(idle.groups.at({"D3"}).attempts == 0);
  CHECK(idle.groups.at({"P7"}).attempts == 0);
  CHECK(idle.open_by_tenant.at({"tenant-1"}) == 0);
}

TEST_CASE("a second expectation forgets nobody who has joined and nothing that is placed") {
  expect_cluster other = expected();
  other.groups.push_back({{"P8"}, group_role::prefill, 1});
  const state s = after(busy(), {expected(), other});
  CHECK(s.groups.size() == 2);
  CHECK(s.groups.at({"P7"}).attempts == 1);
  CHECK(membership::ranks_joined(s) == membership::ranks_joined(busy()));
  CHECK(after(s, {attempt_drained{sample_attempt()}}).groups.at({"P7"}).attempts == 0);
}

TEST_CASE("each refusal of the router names its limit") {
  const auto why = [](const state& s, const request_arrived& e) {
    return std::get<request_refused>(machine::step(s, e).effects.at(0)).why;
  };
  CHECK(why(formed(), arrival(2, "nobody")).text == "unknown tenant 'nobody'");
  CHECK(why(busy(), arrival(2)).text == "tenant 'tenant-1' has 1 requests open, its limit");
  expect_cluster narrow = expected();
  narrow.requests_open_max = 0;
  CHECK(why(after({}, {narrow}), arrival(1)).why == reason::queue_full);
  const auto unplaced = machine::step(maimed(), placement(2));
  CHECK(std::get<place_refused>(unplaced.effects.at(0)).why.why == reason::peer_lost);
}
