#include "protocol/outcome.hpp"

namespace baton::protocol {

const char* to_string(reason r) {
  switch (r) {
  case reason::none: return "none";
  case reason::bad_input: return "bad_input";
  case reason::not_permitted: return "not_permitted";
  case reason::no_capacity: return "no_capacity";
  case reason::no_slot: return "no_slot";
  case reason::no_source_blocks: return "no_source_blocks";
  case reason::inflight_budget: return "inflight_budget";
  case reason::quarantine_budget: return "quarantine_budget";
  case reason::deadline_infeasible: return "deadline_infeasible";
  case reason::queue_full: return "queue_full";
  case reason::lease_expired: return "lease_expired";
  case reason::manifest_mismatch: return "manifest_mismatch";
  case reason::stale_generation: return "stale_generation";
  case reason::stale_incarnation: return "stale_incarnation";
  case reason::stale_attempt: return "stale_attempt";
  case reason::out_of_range: return "out_of_range";
  case reason::duplicate: return "duplicate";
  case reason::corrupt: return "corrupt";
  case reason::peer_lost: return "peer_lost";
  case reason::group_poisoned: return "group_poisoned";
  case reason::cancelled: return "cancelled";
  case reason::deadline_passed: return "deadline_passed";
  case reason::not_found: return "not_found";
  case reason::unsupported: return "unsupported";
  case reason::shutting_down: return "shutting_down";
  case reason::internal: return "internal";
  }
  return "unknown";
}

} // namespace baton::protocol
