// Messages between a node's devices and the actors beside them, and between node guards. Everything
// that decides about ownership is in protocol/messages_*.hpp.
#pragma once

#include "protocol/messages_compute.hpp"
#include "protocol/messages_mapped.hpp"
#include "protocol/messages_transfer.hpp"

namespace baton::protocol {

// ---- devices

/// Feed -> compute device: tell me source_ready of this sequence; the watcher travels with it.
struct watch_sequence {
  sequence_id sequence;

  static constexpr const char* type = "watch_sequence";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence));
  }
};

/// Feed -> transfer device: offer_resume with its bytes.
struct resume_offer {
  lane_id lane;
  packed_floats hidden;

  static constexpr const char* type = "resume_offer";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("hidden", s.hidden));
  }
};

/// Feed -> transfer device: forget me, but not how I ended.
struct feed_ended {
  lane_id lane;
  bool received = false;

  static constexpr const char* type = "feed_ended";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("received", s.received));
  }
};

/// Lane -> transfer device: forget me.
struct lane_ended {
  lane_id lane;

  static constexpr const char* type = "lane_ended";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// Endpoint -> transfer device: the payload piece of a lane, with its bytes.
struct resume_landed {
  lane_id lane;
  std::uint32_t piece = 0;
  packed_floats hidden;

  static constexpr const char* type = "resume_landed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("piece", s.piece),
                           field("hidden", s.hidden));
  }
};

/// One slice of a plan that has completed.
struct slice_ended {
  sequence_id sequence;
  token_id token;
  bool sampled = false;
  packed_floats hidden;
  packed_floats logits;

  static constexpr const char* type = "slice_ended";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence), field("token", s.token),
                           field("sampled", s.sampled), field("hidden", s.hidden),
                           field("logits", s.logits));
  }
};

/// Device -> compute device actor: the plan's kernels have completed, or failed and run no more.
struct plan_ended {
  group_epoch epoch;
  step_number step;
  failure error;
  std::vector<slice_ended> results;
  std::int64_t compute_ns = 0;

  static constexpr const char* type = "plan_ended";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("epoch", s.epoch), field("step", s.step), field("error", s.error),
                           field("results", s.results), field("compute_ns", s.compute_ns));
  }
};

/// Transfer device: the channel to a peer is down. Proves nothing about its reads and writes.
struct channel_failed {
  node_name peer;
  failure error;

  static constexpr const char* type = "channel_failed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("peer", s.peer), field("error", s.error));
  }
};

/// Node guard -> transfer device: prepare the channel. The descriptor is never logged.
struct connect_peer {
  node_name peer;
  incarnation life;
  std::string descriptor;

  static constexpr const char* type = "connect_peer";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("peer", s.peer), field("life", s.life),
                           field("descriptor", s.descriptor));
  }
};

/// Transfer device -> node guard.
struct channel_ready {
  node_name peer;
  failure error;
  std::string path;

  static constexpr const char* type = "channel_ready";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("peer", s.peer), field("error", s.error), field("path", s.path));
  }
};

// ---- inside the router's node

/// Request -> router: the attempt's handle travels with it; losses of its groups are told to it.
struct attempt_started {
  attempt_id attempt;

  static constexpr const char* type = "attempt_started";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt));
  }
};

/// Request -> client: the text that became certain with a frame. Never in a trace.
struct frame_text {
  external_id external;
  std::uint32_t index = 0;
  private_text text;

  static constexpr const char* type = "frame_text";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("external", s.external), field("index", s.index),
                           field("text", s.text));
  }
};

// ---- node guards

/// A process, as others of its host recognise it: a number that is used again has another start.
struct process_identity {
  std::string host; ///< one boot, one PID and one time namespace; empty: not known
  std::int32_t number = 0;
  std::uint64_t start_ticks = 0; ///< since boot

  static constexpr const char* type = "process_identity";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("host", s.host), field("number", s.number),
                           field("start_ticks", s.start_ticks));
  }
};

/// I am this node; my handles travel beside it. Sent until answered.
struct hello {
  node_name node;
  incarnation life;
  std::uint32_t version = 4; ///< of all messages between nodes
  std::string cluster;
  process_identity process;
  bool answer = false; ///< sent because of a hello from a peer that is known already
  std::string descriptor; ///< of its endpoint; empty without one

  static constexpr const char* type = "hello";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("node", s.node), field("life", s.life),
                           field("version", s.version), field("cluster", s.cluster),
                           field("process", s.process), field("answer", s.answer),
                           field("descriptor", s.descriptor));
  }
};

/// Another node of this process; its guard travels beside it.
struct peer_found {
  static constexpr const char* type = "peer_found";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// Timer of a node guard: try to connect to this node again.
struct connect_due {
  node_name node;

  static constexpr const char* type = "connect_due";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("node", s.node));
  }
};

/// Timer: the channel to a peer is to be prepared again.
struct channel_due {
  node_name node;
  incarnation life;

  static constexpr const char* type = "channel_due";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("node", s.node), field("life", s.life));
  }
};

/// Client -> router's node guard: where is the router?
struct ask_router {
  static constexpr const char* type = "ask_router";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// The router's handle travels beside it.
struct router_is {
  std::uint32_t version = 1;
  std::string cluster;
  std::string run_id; ///< of this start: a later one may have the name and the ports

  static constexpr const char* type = "router_is";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("version", s.version), field("cluster", s.cluster),
                           field("run_id", s.run_id));
  }
};

/// Router -> node guard: your node_joined has been heard.
struct join_heard {
  static constexpr const char* type = "join_heard";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// I live.
struct heartbeat {
  node_name node;
  incarnation life;

  static constexpr const char* type = "heartbeat";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("node", s.node), field("life", s.life));
  }
};

/// Process watch -> node guard. Evidence: every thread of the node's process has ended, nothing of
/// it computes or writes any more. What it had posted to a transport before may still arrive.
struct process_died {
  node_name node;
  incarnation life;
  std::int32_t number = 0;

  static constexpr const char* type = "process_died";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("node", s.node), field("life", s.life),
                           field("number", s.number));
  }
};

/// Process watch -> node guard: this process cannot be watched. Says nothing about its life.
struct watch_refused {
  node_name node;
  incarnation life;
  failure why;

  static constexpr const char* type = "watch_refused";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("node", s.node), field("life", s.life), field("why", s.why));
  }
};

/// Timer of a node guard: a peer's connection was lost, and its process had time to be found dead.
struct connection_judged {
  node_name node;
  incarnation life;

  static constexpr const char* type = "connection_judged";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("node", s.node), field("life", s.life));
  }
};

/// Timer of a node guard.
struct tick {
  static constexpr const char* type = "tick";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// Finish: end the node's own actors.
struct end_node {
  static constexpr const char* type = "end_node";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

} // namespace baton::protocol
