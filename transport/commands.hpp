// What the members of an endpoint ask of its thread, and the queue in between.
#pragma once

#include "transport/endpoint.hpp"

#include <deque>
#include <mutex>
#include <variant>
#include <vector>

namespace baton::transport {

struct connect_command {
  node_name peer;
  incarnation life;
  std::vector<std::byte> descriptor;
};
struct disconnect_command {
  node_name peer;
};
struct admit_command {
  lane_grant grant;
};
struct revoke_command {
  lane_id lane;
  node_name source;
};
struct receipt_command {
  lane_id lane;
  node_name source;
};
struct offer_command {
  node_name destination;
  piece_offer offer;
};
struct payload_command {
  node_name destination;
  lane_id lane;
  std::uint32_t piece = 0;
  std::vector<std::byte> bytes;
};
struct withdraw_command {
  lane_id lane;
  node_name destination;
};
struct query_command {
  lane_id lane;
  node_name destination;
};
struct shutdown_command {};

using command = std::variant<connect_command, disconnect_command, admit_command, revoke_command,
                             receipt_command, offer_command, payload_command, withdraw_command,
                             query_command, shutdown_command>;

/// Many producers, one consumer. Its length is bounded by what callers may have outstanding: the
/// engine moves everything on into queues with limits each time round its loop.
class command_queue {
public:
  void push(command c) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(c));
  }
  std::deque<command> take_all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(waiting_, {});
  }

private:
  std::mutex mutex_;
  std::deque<command> waiting_;
};

} // namespace baton::transport
