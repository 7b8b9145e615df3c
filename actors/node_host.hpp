// One node, put together: hardware, actors, guard. Several may share a process and an actor system.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/node_guard.hpp"
#include "actors/rank_hardware.hpp"

#include <memory>
#include <string>
#include <vector>

namespace baton::actors {

struct host_options {
  std::string dir;              ///< run directory
  std::string run_id;
  bool use_network = true;      ///< connect by port; else introduce() inside the process
  std::function<void(const std::string&)> say;
};

class node_host {
public:
  /// Loads the model and starts the devices; slow, touches no actor. Errors name file and field.
  static protocol::outcome<std::unique_ptr<node_host>>
  prepare(const protocol::cluster_config& cluster, const protocol::cluster_node& node,
          const host_options& options, transport::hub& hub);

  /// Starts the actors and, with the network, publishes the guard on the node's port.
  protocol::failure start(caf::actor_system& system, std::function<void()> on_formed);

  /// Makes two nodes of one process known to each other.
  void introduce(const node_host& other);

  /// Ends the node's own actors; those of requests that are still open are counted by left_open().
  void stop();
  std::int64_t left_open() const { return node_->counts.total(); }

  const handle& guard() const { return guard_; }
  node_context& context() { return *node_; }

private:
  node_host() = default;
  guard_setup make_actors(caf::actor_system& system, std::function<void()> on_formed);
  void open_machines();

  std::unique_ptr<node_context> node_;
  host_options options_;
  protocol::cluster_node self_;
  prompt_reader reader_;                   ///< router only
  std::unique_ptr<rank_hardware> hardware_; ///< ranks only
  std::unique_ptr<process_watch> watch_;
  node_handles own_;
  handle guard_;
};

} // namespace baton::actors
