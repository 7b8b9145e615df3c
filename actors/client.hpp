// The scripted client actor: plays a script against a cluster's router and keeps account of it.
//
//   connecting ─▶ asking ─▶ playing ──last outcome──▶ settling ──all free, or 10 s──▶ end
//        │           │         └──timeout, interrupt──▶ winding up ──outcomes, or 5 s──▶ end
//        └───────────┴──10 s──▶ end
//
// All decisions about the script are client_run's, all about the cluster's memory pools_watch's.
#pragma once

#include "actors/client_output.hpp"
#include "actors/client_pools.hpp"
#include "actors/client_run.hpp"
#include "actors/node_context.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace baton::actors {

struct client_setup {
  protocol::script script;
  protocol::external_id keep_logits_of; ///< empty: no raw logits are kept
  handle guard;                         ///< of the router's node; null: connect to host and port
  std::string host;
  std::uint16_t port = 0;
  bool settles = false;          ///< afterwards, wait until every pool is free again
  live_output* output = nullptr; ///< outlives the actor
};

enum class run_end : std::uint8_t { not_connected, played, timed_out, interrupted };

struct client_result {
  run_end end = run_end::played;
  protocol::failure error; ///< why it did not connect
  client_run run;
  std::vector<std::string> open_at_end;  ///< when it timed out or was interrupted
  std::optional<pools_watch> pools;      ///< none: not asked for, or not reached
  bool router_lost = false;              ///< nothing more was said of what was open
};

/// Starts the client. `on_end` is called once, on a thread of the actor system; the actor is
/// finished then.
handle spawn_client(caf::actor_system& system, node_context& node, client_setup setup,
                    std::function<void(client_result)> on_end);

/// Ends a run early, as a person's SIGINT does: cancels what is open, waits up to 5 s.
void interrupt_client(node_context& node, const handle& client);

} // namespace baton::actors
