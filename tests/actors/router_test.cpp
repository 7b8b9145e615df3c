// The router's actor, before its own guard has met the nodes that say that they have joined.
#include "actors/device_messages.hpp"
#include "actors/interfaces.hpp"
#include "actors/messages_caf.hpp"
#include "protocol/membership.hpp"
#include "tests/actors/mailbox.hpp"

#include <atomic>
#include <doctest/doctest.h>

using namespace baton;
using namespace baton::actors;
using namespace baton::protocol;

namespace {

constexpr incarnation present{1, 2};
constexpr incarnation former{3, 4};

/// The router of a cluster with one mixed group of one rank, and that rank's guard.
struct one_router {
  one_router() {
    configure(config, 200, 1000);
    system = std::make_unique<caf::actor_system>(config);
    node.name = {"router"};
    router = spawn_router(*system, node, {}, [this] { ++formed; });
    guard = std::make_unique<mailbox>(*system, node);
    expect_cluster e;
    e.groups.push_back({{"M"}, group_role::mixed, 1});
    guard->tell(router, e);
  }
  ~one_router() { guard->tell(router, end_node{}); }

  void meet(const incarnation& life) { node.peers.set({{"M.0"}, life, {}}); }

  /// Says that M.0 has joined; true if the router has heard it, by its answers in their order.
  bool joined() {
    guard->tell(router, node_joined{{"M.0"}, {"M"}, {0}, present});
    guard->tell(router, place_attempt{{{5, ++asked}, 1, {1}}, {}}); // answered in any case
    const auto first = guard->next<join_heard, attempt_placed, place_refused>();
    if (std::holds_alternative<place_refused>(first))
      return false;
    REQUIRE(std::holds_alternative<join_heard>(first));
    const auto placed = guard->next<attempt_placed, place_refused>();
    REQUIRE(std::holds_alternative<attempt_placed>(placed));
    CHECK(std::get<attempt_placed>(placed).source.ranks == std::vector<incarnation>{present});
    return true;
  }

  caf::actor_system_config config;
  node_context node;
  std::atomic<int> formed{0};
  std::uint64_t asked = 0;
  std::unique_ptr<caf::actor_system> system;
  handle router;
  std::unique_ptr<mailbox> guard;
};

} // namespace

TEST_CASE("a node that joins before the router's guard has met it is not heard, and asks again") {
  one_router t;
  CHECK_FALSE(t.joined());
  CHECK(t.formed == 0);
  t.meet(present);
  CHECK(t.joined());
  CHECK(t.formed == 1);
}

TEST_CASE("a node whose former life the router's guard has met is not heard") {
  one_router t;
  t.meet(former);
  CHECK_FALSE(t.joined());
  CHECK(t.formed == 0);
}
