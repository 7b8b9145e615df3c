// Watches over real processes, and a node guard that learns from one.
#include "actors/process_watch.hpp"
#include "actors/device_messages.hpp"
#include "actors/messages_caf.hpp"
#include "actors/node_guard.hpp"
#include "protocol/membership.hpp"
#include "tests/actors/child_process.hpp"
#include "tests/actors/mailbox.hpp"

#include <doctest/doctest.h>
#include <future>
#include <sys/syscall.h>
#include <thread>

using namespace baton;
using namespace baton::actors;
using namespace baton::protocol;

namespace {

struct one_watch {
  one_watch() {
    configure(config, 200, 1000);
    system = std::make_unique<caf::actor_system>(config);
    node.name = {"router"};
    guard = std::make_unique<mailbox>(*system, node);
    watch = std::make_unique<process_watch>(node);
  }

  /// Watches under a life of its own, the process's number.
  void begin(const process_identity& process) {
    watch->watch({"D.0"}, {1, static_cast<std::uint64_t>(process.number)}, process, guard->own());
  }

  /// "died", "reaped" or "refused", and the number of the life.
  std::string next() {
    const auto next = guard->next<process_died, process_reaped, watch_refused>();
    if (const auto* e = std::get_if<process_died>(&next))
      return "died " + std::to_string(e->life.low);
    if (const auto* e = std::get_if<process_reaped>(&next))
      return "reaped " + std::to_string(e->life.low);
    if (const auto* e = std::get_if<watch_refused>(&next))
      return "refused " + std::to_string(e->life.low) + " " + e->why.text;
    return "nothing";
  }

  caf::actor_system_config config;
  node_context node;
  std::unique_ptr<caf::actor_system> system;
  std::unique_ptr<mailbox> guard;
  std::unique_ptr<process_watch> watch;
};

std::string word(const char* what, const child_process& child) {
  return what + (" " + std::to_string(child.number()));
}

} // namespace

TEST_CASE("a killed process is dead at once, and reaped only when its parent has collected it") {
  one_watch t;
  child_process first;
  child_process second;
  t.begin(process_numbered(first.number()));
  t.begin(process_numbered(second.number()));
  first.kill();
  CHECK(t.next() == word("died", first));
  second.kill();
  CHECK(t.next() == word("died", second));
  second.reap();
  CHECK(t.next() == word("reaped", second)); // the watch has looked at the first meanwhile
  first.reap();
  CHECK(t.next() == word("reaped", first));
}

TEST_CASE("a process that was gone before its watch began is dead and reaped") {
  one_watch t;
  child_process child;
  const process_identity gone = process_numbered(child.number());
  child.kill();
  child.reap();
  t.begin(gone);
  CHECK(t.next() == word("died", child));
  CHECK(t.next() == word("reaped", child));
}

TEST_CASE("a process that died before its watch began and was not collected is dead alone") {
  one_watch t;
  child_process child;
  const process_identity asked = process_numbered(child.number());
  child.kill();
  siginfo_t seen{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(child.number()), &seen, WEXITED | WNOWAIT) == 0);
  t.begin(asked);
  CHECK(t.next() == word("died", child));
  child.reap();
  CHECK(t.next() == word("reaped", child));
}

TEST_CASE("a process whose number is used again has ended, and the later one is not watched") {
  one_watch t;
  child_process child;
  process_identity former = process_numbered(child.number());
  --former.start_ticks;
  t.begin(former);
  CHECK(t.next() == word("died", child));
  CHECK(t.next() == word("reaped", child));
  CHECK(kill(child.number(), 0) == 0); // the later one lives
}

TEST_CASE("a process elsewhere, or what is none, is refused: its silence alone tells") {
  one_watch t;
  child_process child;
  process_identity elsewhere = process_numbered(child.number());
  elsewhere.host = "another boot";
  t.begin(elsewhere);
  CHECK(t.next().find(word("refused", child)) == 0);
  process_identity unknown = process_numbered(child.number());
  unknown.host = "";
  t.begin(unknown);
  CHECK(t.next().find(word("refused", child)) == 0);

  std::promise<process_identity> numbered;
  std::promise<void> over;
  std::thread thread([&] { // a number that a thread of ours has: pidfd_open says no
    process_identity mine = own_process();
    mine.number = static_cast<std::int32_t>(syscall(SYS_gettid));
    numbered.set_value(mine);
    over.get_future().wait();
  });
  t.begin(numbered.get_future().get());
  CHECK(t.next().find("pidfd_open: ") != std::string::npos);
  over.set_value();
  thread.join();
}

namespace {

/// The router's guard, which has met D.0; the test is its router, and D.0's guard.
struct one_guard {
  /// The other constructor's object is destroyed, and its guard ended, should they not meet.
  explicit one_guard(const process_identity& process) : one_guard() { meet(process); }
  one_guard() {
    configure(config, 200, 60'000);
    system = std::make_unique<caf::actor_system>(config);
    node.name = {"router"};
    node.cluster.name = "n";
    node.cluster.heartbeat_ms = 200;
    node.cluster.peer_timeout_ms = 60'000; // no test waits for it
    router = std::make_unique<mailbox>(*system, node);
    peer = std::make_unique<mailbox>(*system, node);
    watch = std::make_unique<process_watch>(node);
    guard_setup setup;
    setup.own.router = router->own();
    setup.others.push_back({{"D.0"}, group_name{"D"}, {0}, 0});
    setup.watch = watch.get();
    setup.say = [this, lines = 0](const std::string& line) mutable {
      if (++lines == 1)
        said.set_value(line);
    };
    guard = spawn_node_guard(*system, node, std::move(setup), false);
  }
  ~one_guard() { router->tell(guard, end_node{}); }

  void meet(const process_identity& process) {
    hello h;
    h.node = {"D.0"};
    h.life = {1, 2};
    h.cluster = "n";
    h.process = process;
    peer->tell(guard, h, {peer->own(), {}, {}, {}, {}, {}});
    peer->tell(guard, heartbeat{{"D.0"}, {1, 2}});
    const auto beat = peer->next<heartbeat>(); // it has met us
    REQUIRE(std::holds_alternative<heartbeat>(beat));
  }

  std::string loss() {
    const auto next = router->next<node_lost>();
    REQUIRE(std::holds_alternative<node_lost>(next));
    const auto& lost = std::get<node_lost>(next);
    CHECK(lost.node.value == "D.0");
    CHECK(lost.life == incarnation{1, 2});
    CHECK(lost.why.why == reason::peer_lost);
    return lost.why.text;
  }

  caf::actor_system_config config;
  node_context node;
  std::promise<std::string> said; ///< the first line
  std::unique_ptr<caf::actor_system> system;
  std::unique_ptr<mailbox> router;
  std::unique_ptr<mailbox> peer;
  std::unique_ptr<process_watch> watch;
  handle guard;
};

} // namespace

TEST_CASE("a guard loses a peer whose process is killed at once, and says that it has died") {
  child_process child;
  one_guard t(process_numbered(child.number()));
  child.kill();
  const std::string died
    = "D.0: its process " + std::to_string(child.number()) + " has died";
  CHECK(t.loss() == died);
  CHECK(t.said.get_future().get() == "router: lost " + died);
}

TEST_CASE("a guard that loses the connection to a process that lives does not call it dead") {
  child_process child;
  one_guard t(process_numbered(child.number()));
  t.peer.reset();
  CHECK(t.loss() == "D.0: its connection was lost, its process has not ended");
}

TEST_CASE("a guard says once that it cannot watch, and believes a lost connection then") {
  process_identity elsewhere = own_process();
  elsewhere.host = "another boot";
  one_guard t(elsewhere);
  const std::string said = t.said.get_future().get();
  CHECK(said.find("router: of D.0 and others like it only silence tells") == 0);
  t.peer.reset();
  CHECK(t.loss() == "D.0: its process ended or its connection was lost");
}
