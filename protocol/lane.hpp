// The destination end of one lane: bytes of one transfer from one source rank to one of our ranks.
// On the default path this end is the mover, so its own receive callbacks are the stop evidence.
//
//   planned ──lane_admitted──▶ posted ──last piece_landed──▶ landed
//      └──────────┬───────────────┘ stop_lane                   │ stop_lane
//                 ▼                                             ▼
//           abort_requested ──receives_quiesced──▶ retired ◀── abort_requested
//
// A piece that lands after stop_lane changes nothing (I2): its blocks are not reused before
// receives_quiesced. A repeated open_lane, and ask_lane, are answered from the state.
#pragma once

#include "protocol/clock.hpp"
#include "protocol/coverage.hpp"
#include "protocol/messages_transfer.hpp"
#include "protocol/step.hpp"

#include <variant>

namespace baton::protocol::lane {

/// What every living state knows.
struct body {
  open_lane opened;
  coverage covered; ///< the last piece is the resume state, if there is one
  std::uint64_t resume_digest = 0;
  failure failed; ///< what the reservation was told, should it ask again
};

struct nascent {};
struct planned {
  body data;
};
struct posted {
  body data;
};
struct landed {
  body data;
};
struct abort_requested {
  body data;
};
struct retired {};

using state = std::variant<nascent, planned, posted, landed, abort_requested, retired>;
using event = std::variant<open_lane, ask_lane, lane_admitted, piece_landed, offer_refused,
                           stop_lane, receives_quiesced>;
using effect = std::variant<admit_lane, revoke_lane, send_receipt, lane_opened, lane_landed,
                            lane_failed, lane_stopped, end_actor>;
using step_result = stepped<state, effect>;

/// Duplicates of a landed piece add nothing; pieces out of range or of another generation abort,
/// for the device has checked them against the same table.
[[nodiscard]] step_result step(state before, const event& event, instant now);

const char* name_of(const state& s);

} // namespace baton::protocol::lane
