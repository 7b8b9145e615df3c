// Who may write, read and reuse the blocks of one grant on the decode side: the four boundaries.
//
//   reserved ─lanes open─▶ receiving ─all lanes landed─▶ complete ─commit─▶ live ─▶ retiring
//      └──────────┬───────────┴──────────────┬───────────┘                          │
//                 ▼ revoke, lease expired, mismatch, corrupt                        │
//              draining ◀───────────────────────────────────────────────────────────┤ lane lost
//                 │  every lane stopped, readers quiesced                           ▼
//                 └────────────▶ reclaiming ─blocks_reclaimed─▶ reclaimed       quarantined
//
// draining is the contract's revoked + draining: admission ends with the event that enters it.
// I5: commit needs the manifest, coverage of every lane, an unexpired lease on this node's clock
// and the attempt's claim. I3: the pool hears reclaim_blocks only after every lane's stop evidence
// and the readers' quiescence.
//
// Every word of another node may be lost, repeated or late, so none of them aborts. Lanes that have
// not spoken are asked again (evidence_due). A question is answered by the last word said before.
#pragma once

#include "protocol/block_pool.hpp"
#include "protocol/messages_compute.hpp"
#include "protocol/messages_transfer.hpp"

#include <map>
#include <optional>
#include <variant>

namespace baton::protocol {

/// First event: the pool's grant and this group's own model.
struct begin_reservation {
  open_reservation opened;
  model_identity model;
  std::int64_t lease_ms = 0;

  static constexpr const char* type = "begin_reservation";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("opened", s.opened), field("model", s.model),
                           field("lease_ms", s.lease_ms));
  }
};

/// Timer at the lease's end. The exact instant of expiry is already too late.
struct lease_expired {
  static constexpr const char* type = "lease_expired";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// Timer: a script asked to keep the memory after the last token.
struct hold_ended {
  static constexpr const char* type = "hold_ended";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// Ask the shell for lease_expired after so long.
struct arm_lease {
  std::int64_t delay_ms = 0;

  static constexpr const char* type = "arm_lease";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("delay_ms", s.delay_ms));
  }
};

/// Ask the shell for hold_ended after so long.
struct arm_hold {
  std::int64_t delay_ms = 0;

  static constexpr const char* type = "arm_hold";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("delay_ms", s.delay_ms));
  }
};

namespace reservation {

enum class lane_status : std::uint8_t { opening, open, landed, stopped, lost };
enum class readers : std::uint8_t { none, active, quiesced };

struct lane_entry {
  lane_plan plan;
  lane_status status = lane_status::opening;
  bool landed = false; ///< coverage was complete before it stopped
};

struct body {
  begin_reservation begun;
  instant lease_end;
  reservation_id hold; ///< whose offer was taken, once there are lanes
  std::map<lane_id, lane_entry> lanes;
  std::optional<std::uint64_t> resume_digest; ///< none: no lane has told yet
  readers reading = readers::none;
  std::optional<decode_finished> finished; ///< what the attempt was told …
  failure ended;                           ///< … or why it ended before
};

struct nascent {};
struct reserved {
  body data;
};
struct receiving {
  body data;
};
struct complete {
  body data;
};
struct live {
  body data;
};
struct retiring {
  body data;
};
struct draining {
  body data;
};
struct quarantined {
  body data;
};
struct reclaiming {
  body data;
};
struct reclaimed {
  reservation_id id;
};

using state = std::variant<nascent, reserved, receiving, complete, live, retiring, draining,
                           quarantined, reclaiming, reclaimed>;
using event
  = std::variant<begin_reservation, manifest_offered, lane_opened, lane_landed, lane_failed,
                 lane_stopped, lane_lost, commit, revoke_reservation, query_reservation,
                 lease_expired, evidence_due, sequence_finished, sequence_quiesced, hold_ended,
                 blocks_reclaimed>;
using effect
  = std::variant<reserve_granted, open_lane, ask_lane, stop_lane, transfer_opened,
                 transfer_refused, transfer_completed, committed, commit_refused,
                 reservation_revoked, mark_live, activate_sequence, cancel_sequence,
                 decode_finished, quarantine_blocks, reclaim_blocks, forget_attempt,
                 reservation_reclaimed, reservation_quarantined, arm_lease, arm_hold,
                 arm_evidence, end_actor>;
using step_result = stepped<state, effect>;

[[nodiscard]] step_result step(state before, const event& event, instant now);

const char* name_of(const state& s);

} // namespace reservation
} // namespace baton::protocol
