// One record per handled message of every actor: enough to replay the actor's machine, to follow
// causes across nodes, and to see where the time went. Written as one JSON object a line.
#pragma once

#include "protocol/ids.hpp"
#include "protocol/json_codec.hpp"

#include <string>
#include <vector>

namespace baton::protocol {

inline constexpr std::uint32_t trace_version = 2;

/// The name under which every client writes. Several may live at once, each with a file of its own.
inline constexpr const char* client_node = "client";

/// First line of each node's file.
struct trace_header {
  std::uint32_t version = trace_version;
  node_name node;
  incarnation life;
  std::string cluster;
  std::int64_t opened_unix_ms = 0; ///< wall clock, for people only

  static constexpr const char* type = "trace_header";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("version", s.version), field("node", s.node),
                           field("life", s.life), field("cluster", s.cluster),
                           field("opened_unix_ms", s.opened_unix_ms));
  }
};

/// Identity of a message, carried beside it wherever it goes.
struct message_header {
  std::uint64_t id = 0;    ///< unique in the cluster: random high bits of the node, then a counter
  std::uint64_t cause = 0; ///< whose handling sent this one; 0: a timer, device or person
  std::string sender;      ///< "node:actor", as "P7.0:source_hold/5"
  std::int64_t sent_ns = 0; ///< the sender's monotonic clock (one clock per host)

  static constexpr const char* type = "message_header";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("id", s.id), field("cause", s.cause), field("sender", s.sender),
                           field("sent_ns", s.sent_ns));
  }
};

struct trace_record {
  message_header header;
  std::string actor;   ///< "kind/key", unique on its node: "reservation/5"
  std::string machine; ///< name of the pure machine behind the actor, empty for device actors
  std::string message; ///< type of the message
  json event;          ///< its fields
  std::string before;  ///< state names
  std::string after;
  std::vector<std::string> effects; ///< type names, in order
  request_id request;               ///< zero: not about one request
  std::uint32_t attempt = 0;
  std::int64_t begin_ns = 0; ///< handling began: also the `now` that the machine was stepped with
  std::int64_t end_ns = 0;

  std::int64_t wait_ns() const { return begin_ns - header.sent_ns; }
};

/// A record as one line of text (no newline) and back. bad_input names the field.
std::string to_line(const trace_record& record);
outcome<trace_record> record_from_line(const std::string& line);
std::string to_line(const trace_header& header);
outcome<trace_header> header_from_line(const std::string& line);

} // namespace baton::protocol
