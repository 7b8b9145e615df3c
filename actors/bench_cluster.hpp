// A whole cluster in this process, for benches of what control costs: every actor of the product,
// path loopback, a model of a few bytes.
#pragma once

#include "actors/node_host.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace baton::actors::bench {

class bench_cluster {
public:
  /// Waits until it has formed; ends the process with the reason when it does not. Nothing is
  /// recorded.
  bench_cluster();
  ~bench_cluster();
  bench_cluster(const bench_cluster&) = delete;

  /// So many requests, `open_max` of them at once, each of a few tokens; returns when the last one
  /// has ended and every actor of theirs is gone. Ends the process when one was not completed.
  void play(std::uint32_t requests, std::uint32_t open_max);

  /// Messages that the actors have been sent so far, timers and devices' words included.
  std::uint64_t messages() const;

private:
  void prepare(const protocol::cluster_config& cluster);
  bool has_open_actors() const;

  transport::hub hub_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::vector<std::unique_ptr<node_host>> hosts_;
  node_context client_;
};

} // namespace baton::actors::bench
