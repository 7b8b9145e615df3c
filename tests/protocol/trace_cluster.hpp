// A whole hand-off in memory: the real machines of a router, two prefill ranks, two decode ranks
// and a client, with a queue between them and devices that do at once what they are asked. Every
// handled message leaves the record that its actor would write.
#pragma once

#include "protocol/feed.hpp"
#include "protocol/lane.hpp"
#include "protocol/membership.hpp"
#include "protocol/rank_group.hpp"
#include "protocol/request.hpp"
#include "protocol/reservation.hpp"
#include "protocol/source_hold.hpp"
#include "tests/protocol/memory_trace.hpp"

#include <deque>
#include <functional>
#include <map>
#include <string>

namespace baton::tests {

/// Knobs of the run.
struct cluster_script {
  std::uint32_t requests = 2;      ///< one after the other, so that blocks are used again
  bool in_place = false;           ///< one mixed group D0
  std::int64_t lease_ms = 60'000;
};

/// Runs the script to its end. Every node's section is closed.
memory_trace record_hand_offs(const cluster_script& script);

} // namespace baton::tests
