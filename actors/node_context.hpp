// What every actor of one node shares: who this node is, its configuration, its trace, and the
// handles of its peers. Several nodes may live in one process (loopback), each with its own
// context.
#pragma once

#include "actors/alarm_clock.hpp"
#include "actors/caf_compat.hpp"
#include "actors/trace_recorder.hpp"
#include "protocol/cluster_config.hpp"
#include "protocol/manifest.hpp"
#include "protocol/trace_record.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace baton::actors {

/// The actors that a node shows to other nodes. Null where the node has no such actor.
struct node_handles {
  handle node;     ///< node guard: heartbeats, status
  handle transfer; ///< transfer device: open_lane, open_feed
  handle compute;  ///< compute device: plans
  handle pool;     ///< only a group's leader: reserve_request, start_prefill
  handle group;    ///< only a group's leader
  handle router;   ///< only the router's node
};

/// One node as others know it.
struct peer {
  protocol::node_name name;
  protocol::incarnation life;
  node_handles handles;
};

/// Thread-safe: every actor of the node looks its peers up here, only the node guard writes.
class peer_directory {
public:
  void set(peer p);
  void erase(const protocol::node_name& name);
  /// A peer whose handles are all null when it is not known.
  peer find(const protocol::node_name& name) const;
  std::vector<peer> all() const;

private:
  mutable std::mutex mutex_;
  std::map<protocol::node_name, peer> peers_;
};

/// Living actors by kind, for status and for the proof that none outlives its attempt (I16).
struct actor_counts {
  std::atomic<std::int64_t> requests{0};
  std::atomic<std::int64_t> attempts{0};
  std::atomic<std::int64_t> reservations{0};
  std::atomic<std::int64_t> source_holds{0};
  std::atomic<std::int64_t> lanes{0};
  std::atomic<std::int64_t> feeds{0};
  std::atomic<std::uint64_t> leases_expired{0}; ///< so far, of reservations

  std::int64_t total() const {
    return requests + attempts + reservations + source_holds + lanes + feeds;
  }
};

/// This host's monotonic clock.
protocol::instant monotonic_now();

struct node_context {
  node_context() = default;
  /// An actor that is still referred to may keep the clock for longer, but it rings no more.
  ~node_context() {
    if (alarms)
      alarms->stop();
  }
  node_context(const node_context&) = delete;

  protocol::node_name name;
  protocol::incarnation life;
  protocol::cluster_config cluster;
  std::string run_id; ///< of the run directory
  std::unique_ptr<trace_recorder> trace; ///< null: tracing is off
  peer_directory peers;
  actor_counts counts;

  // A rank's node.
  const protocol::group_config* group = nullptr; ///< null on the router; points into `cluster`
  protocol::rank_id rank;
  protocol::model_identity model;

  // Message identity: random high bits of the node's life, then a counter.
  std::uint64_t message_base = 0;
  std::atomic<std::uint64_t> messages{0};

  // Time and chance: a test that must run twice alike gives its own.
  /// The one clock of every decision on this node, and of its records.
  std::function<protocol::instant()> clock = monotonic_now;
  std::shared_ptr<alarm_clock> alarms; ///< null: CAF's own timers, which a test can drive
  std::uint64_t request_seed = 0; ///< of the router's request ids; 0: drawn

  std::uint64_t next_message_id() { return message_base + ++messages; }

  /// Handles of the leader (rank 0) of a group, and of any rank of it.
  peer leader_of(const protocol::group_name& g) const;
  peer rank_of(const protocol::group_name& g, protocol::rank_id r) const;
};

} // namespace baton::actors
