// Endpoints of one process, with the rules and the threads of the real ones: for tests, simulation
// and single-process use. The destination copies with memcpy in its own thread.
#pragma once

#include "transport/arena.hpp"
#include "transport/digest.hpp"
#include "transport/endpoint.hpp"

#include <map>
#include <memory>
#include <mutex>

namespace baton::transport {

class hub_member;

/// Where the endpoints of one process find each other. Must outlive them.
class hub {
public:
  /// False when this life is there already.
  bool enter(const incarnation& life, std::shared_ptr<hub_member> member);
  void leave(const incarnation& life);
  std::shared_ptr<hub_member> find(const incarnation& life) const;

private:
  mutable std::mutex mutex_;
  std::map<incarnation, std::shared_ptr<hub_member>> members_;
};

/// An endpoint named `name` in this process; `memory` must outlive it. Errors: duplicate (the life
/// is taken), bad_input (limits).
protocol::outcome<std::unique_ptr<endpoint>>
make_loopback(hub& meeting_place, node_name name, incarnation life, arena& memory,
              const endpoint_limits& limits, transfer_sink sink,
              integrity check = integrity::off);

} // namespace baton::transport
