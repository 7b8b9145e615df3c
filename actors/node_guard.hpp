// Brings one node into its cluster and watches over its peers.
//
//   connect to every node before it (or be introduced, inside one process) ◀──hello──▶ directory
//   directory complete and every needed channel up ──node_joined──▶ router
//   heartbeats, CAF's down messages, process_died ──node_lost──▶ router, ──rank_lost──▶ own group
//
// A peer that is silent, or whose connection was lost, is suspected, never believed to have
// stopped: its loss fails requests, it frees no memory. process_died and process_reaped are
// evidence, from the kernel, about peers on this host; they come at any time, also after the peer
// was lost.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/process_watch.hpp"
#include "actors/status_messages.hpp"
#include "transport/endpoint.hpp"

#include <functional>
#include <string>
#include <vector>

namespace baton::actors {

struct guard_setup {
  node_handles own;                 ///< this node's actors; `node` is filled in by the guard
  transport::endpoint* endpoint = nullptr; ///< null on the router
  process_watch* watch = nullptr;   ///< null: nobody watches the peers' processes
  std::vector<protocol::cluster_node> others;
  std::function<void(const std::string&)> say; ///< one line for people, never secrets
};

/// Takes peer_found (introduction inside a process), hello, heartbeat, channel_ready,
/// channel_failed, ask_router, ask_status, end_node, and what `watch` says. With `use_network`, it
/// connects by host and port to those of `others` that come before it in the cluster.
handle spawn_node_guard(caf::actor_system& system, node_context& node, guard_setup setup,
                        bool use_network);

} // namespace baton::actors
