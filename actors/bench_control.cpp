#include "actors/bench_control.hpp"

#include "actors/bench_cluster.hpp"
#include "actors/bench_report.hpp"
#include "actors/messages_caf.hpp"

#include <caf/all.hpp>
#include <iostream>

namespace baton::actors::bench {

namespace {

constexpr std::uint32_t open_at_once = 32;
constexpr std::uint32_t raw_messages = 400'000;

/// Sends a number back to where it came from, one less each time.
caf::behavior returning(caf::event_based_actor* self) {
  return {[self](std::uint64_t left) {
    if (left > 0)
      self->send(caf::actor_cast<caf::actor>(self->current_sender()), left - 1);
    if (left <= 1)
      self->quit();
  }};
}

caf::behavior beginning(caf::event_based_actor* self, const caf::actor& other,
                        std::uint64_t messages) {
  self->send(other, messages);
  return returning(self);
}

/// As many pairs as requests are open, on as many workers as the product has; messages per second.
double raw_rate() {
  caf::actor_system_config config;
  configure_workers(config);
  caf::actor_system system{config};
  const double begin = clock_s();
  for (std::uint32_t i = 0; i < open_at_once; ++i)
    system.spawn(beginning, system.spawn(returning), std::uint64_t{raw_messages / open_at_once});
  system.await_all_actors_done();
  return raw_messages / (clock_s() - begin);
}

} // namespace

int control(std::uint32_t rounds, std::uint32_t requests) {
  const idleness idle;
  measurement m{"control", "loopback, one process", "messages/s",
                "raw CAF: one number a message, as many pairs of actors as requests are open",
                {}, {}, {}, {}};
  std::vector<double> lifecycles;
  std::vector<double> messages_each;
  {
    bench_cluster cluster;
    for (std::uint32_t round = 0; round <= rounds; ++round) {
      const double raw = raw_rate();
      const std::uint64_t before = cluster.messages();
      const double begin = clock_s();
      cluster.play(requests, open_at_once);
      const double took = clock_s() - begin;
      const auto sent = static_cast<double>(cluster.messages() - before);
      if (round == 0)
        continue;
      m.baselines.push_back(raw);
      m.values.push_back(sent / took);
      lifecycles.push_back(requests / took);
      messages_each.push_back(sent / requests);
    }
  }
  m.more = {{"lifecycles_per_s", median(lifecycles)},
            {"messages_per_lifecycle", median(messages_each)}};
  std::cout << to_json_line(m, idle.share()) << std::endl;
  return 0;
}

} // namespace baton::actors::bench
