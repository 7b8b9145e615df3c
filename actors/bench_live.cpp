// What a live request holds at its router: a real router, request and attempt actors, and groups
// that only say what a group says until a request decodes.
#include "actors/bench_control.hpp"

#include "actors/bench_pipe.hpp"
#include "actors/bench_report.hpp"
#include "actors/device_messages.hpp"
#include "actors/interfaces.hpp"
#include "actors/messages_caf.hpp"
#include "actors/shell.hpp"
#include "protocol/membership.hpp"

#include <chrono>
#include <fstream>
#include <future>
#include <iostream>
#include <unistd.h>

namespace baton::actors::bench {

using namespace protocol;

namespace {

constexpr std::chrono::seconds patience{120};
constexpr std::uint32_t submitted_at_once = 64;
constexpr incarnation life_of_ranks{7, 7};

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Grants whatever it is asked for, of no memory, and never decodes a token.
class standing_group : public shell {
public:
  standing_group(caf::actor_config& config, node_context& node) : shell(config, node, "pool") {}

  caf::behavior make_behavior() override {
    set_default_handler(caf::drop); // questions about what it holds
    auto* self = this;
    return caf::behavior{handler<reserve_request>(self), handler<start_prefill>(self),
                         handler<commit>(self), handler<end_node>(self)};
  }

  void on_message(const message_header&, const handle&, reserve_request& e) {
    grant g;
    g.attempt = e.attempt;
    g.reservation = {life_of_ranks, ++granted_};
    g.group = {"D"};
    g.destination = life_of_ranks;
    g.blocks = {{{0}, {1}}, {{1}, {1}}};
    g.prompt_blocks = 1;
    g.lease_ms = 60'000;
    g.tp_degree = 1;
    send_to(sender(), reserve_granted{std::move(g)});
  }
  void on_message(const message_header&, const handle&, start_prefill& e) {
    const reservation_id hold{life_of_ranks, ++granted_};
    send_to(sender(), prefill_accepted{e.attempt, hold});
    send_to(sender(), prefill_finished{e.attempt, hold});
    send_to(sender(), transfer_completed{e.attempt, e.granted.reservation});
  }
  void on_message(const message_header&, const handle&, commit& e) {
    send_to(sender(), committed{e.attempt});
  }
  void on_message(const message_header&, const handle&, end_node&) { quit(); }

private:
  std::uint64_t granted_ = 0;
};

/// Opens requests one after the other, a few at a time, until so many decode.
class opening_client : public shell {
public:
  opening_client(caf::actor_config& config, node_context& node, handle router,
                 std::uint32_t requests, std::promise<std::string> open)
    : shell(config, node, "client"), router_(std::move(router)), requests_(requests),
      open_(std::move(open)) {}

  caf::behavior make_behavior() override {
    submit();
    auto* self = this;
    return caf::behavior{handler<request_accepted>(self), handler<phase_entered>(self),
                         handler<request_ended>(self), handler<end_node>(self)};
  }

  void on_message(const message_header&, const handle&, request_accepted&) {}
  void on_message(const message_header&, const handle&, phase_entered& e) {
    if (e.phase != attempt_phase::decoding)
      return;
    ++decoding_;
    if (decoding_ == requests_)
      open_.set_value("");
    submit();
  }
  void on_message(const message_header&, const handle&, request_ended& e) {
    if (decoding_ < requests_ && !failed_)
      open_.set_value("a request was " + std::string(to_string(e.kind)) + ": " + e.why.text);
    failed_ = true;
  }
  void on_message(const message_header&, const handle&, end_node&) { quit(); }

private:
  void submit() {
    while (submitted_ < requests_ && submitted_ - decoding_ < submitted_at_once) {
      submit_request ask;
      ask.spec.external = {"live-" + std::to_string(submitted_++)};
      ask.spec.tenant = {"default"};
      ask.spec.prompt_tokens = 16;
      ask.spec.output_tokens = 16;
      ask.spec.deadline_ms = limits::deadline_ms_max;
      send_to(router_, std::move(ask));
    }
  }

  handle router_;
  std::uint32_t requests_;
  std::uint32_t submitted_ = 0;
  std::uint32_t decoding_ = 0;
  bool failed_ = false;
  std::promise<std::string> open_;
};

/// As many idle actors as live requests have, of the least that CAF has to offer.
double bytes_of_raw_actors(caf::actor_system& system, std::uint32_t actors) {
  const std::uint64_t before = resident_bytes();
  std::vector<caf::actor> idle;
  idle.reserve(actors);
  for (std::uint32_t i = 0; i < actors; ++i)
    idle.push_back(system.spawn([](caf::event_based_actor*) -> caf::behavior {
      return {[](std::uint64_t) {}, [](const std::string&) {}};
    }));
  for (const auto& actor : idle)
    caf::anon_send(actor, std::uint64_t{1});
  std::this_thread::sleep_for(std::chrono::seconds(1)); // each has been run once by then
  const std::uint64_t bytes = resident_bytes() - before;
  for (const auto& actor : idle)
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  return static_cast<double>(bytes);
}

/// The router's node, whose groups stand in for real ones.
class router_alone {
public:
  router_alone(caf::actor_system& system, std::uint32_t requests) {
    node_.name = {"router"};
    node_.life = {1, 1};
    node_.alarms = std::make_shared<alarm_clock>();
    pool_ = caf::actor_cast<handle>(system.spawn<standing_group>(node_));
    router_ = spawn_router(system, node_, {nullptr, 100, 64}, [this] { formed_.set_value(); });
    expect_cluster expected;
    expected.groups = {{{"P"}, group_role::prefill, 1}, {{"D"}, group_role::decode, 1}};
    expected.tenants = {{{"default"}, requests, limits::prompt_tokens_max}};
    expected.requests_open_max = requests;
    post(node_, "start", router_, std::move(expected));
    for (const char* group : {"P", "D"}) {
      const node_name rank = node_of({group}, {0});
      node_handles handles;
      handles.pool = pool_;
      node_.peers.set({rank, life_of_ranks, handles});
      post(node_, "start", router_, node_joined{rank, {group}, {0}, life_of_ranks});
    }
    if (formed_.get_future().wait_for(patience) != std::future_status::ready)
      give_up("the router of the bench has not formed its cluster");
  }

  node_context& node() { return node_; }
  const handle& router() const { return router_; }

private:
  node_context node_;
  std::promise<void> formed_;
  handle pool_;
  handle router_;
};

} // namespace

int live(std::uint32_t requests) {
  const idleness idle;
  measurement m{"live", "one router, trace off", "bytes a request",
                "two idle raw CAF actors of two handlers", {}, {}, {}, {}};
  caf::actor_system_config config;
  configure(config, limits::heartbeat_ms_default, limits::peer_timeout_ms_default);
  caf::actor_system system{config};
  router_alone alone{system, requests};
  const std::uint64_t before = resident_bytes();
  const double begin = clock_s();
  std::promise<std::string> open;
  auto why = open.get_future();
  system.spawn<opening_client>(alone.node(), alone.router(), requests, std::move(open));
  if (why.wait_for(patience) != std::future_status::ready)
    give_up("the requests of the bench have not come to decode");
  if (const std::string text = why.get(); !text.empty())
    give_up(text);
  const double took = clock_s() - begin;
  m.values.push_back(static_cast<double>(resident_bytes() - before) / requests);
  m.baselines.push_back(bytes_of_raw_actors(system, 2 * requests) / requests);
  m.more = {{"requests", requests}, {"opened_per_s", requests / took}};
  std::cout << to_json_line(m, idle.share()) << std::endl;
  std::_Exit(0); // nobody waits for so many actors to end one by one
}

} // namespace baton::actors::bench
