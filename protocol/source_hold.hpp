// The prefill group's side of one attempt: its source blocks, their computation, and the proof that
// nobody reads them any more.
//
//   computing ──prefill_computed──▶ offered ──every feed received──▶ received ─▶ retained
//       └──────────┬──────────────────┘ cancel_source                               │
//                  ▼                                                                ▼
//              draining ──────every feed ended, kernels quiesced──────────▶ releasing ─▶ released
//
// Receipt at the destination, not decode admission, lets go of the source. I14: blocks are returned
// only when every feed that was opened has ended by its reader's word and the group's kernels have
// quiesced. A reader that stops, or a computation that fails, ends the hold without being asked:
// the attempt may be gone.
//
// In place the hold has no blocks of its own, and computes only once the reservation has opened the
// lanes. In one mixed group it is the lane's mover, and its quiescence is the lane's stop evidence.
// Mapped, each rank says itself that it has stopped; a draining hold tells its ranks as soon as the
// kernels are quiet, for the feed of a dead rank may never end.
//
// Every word of another node may be lost, repeated or late, so none of them aborts. What has not
// been answered is asked again (evidence_due): the manifest until the transfer is opened or
// refused, each feed until it has ended. A manifest that nobody answers for as long as the grant's
// lease can last ends the hold: nobody was let in to read.
#pragma once

#include "protocol/block_pool.hpp"
#include "protocol/messages_compute.hpp"
#include "protocol/messages_transfer.hpp"

#include <map>
#include <variant>

namespace baton::protocol {

/// Timer: retained blocks are given up.
struct retention_expired {
  static constexpr const char* type = "retention_expired";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// First event of a source hold: what the pool opened, and what this group computes with.
struct begin_hold {
  open_hold opened;
  model_identity model;
  std::uint32_t tp_degree = 0;
  std::uint32_t block_tokens = 0;
  std::int64_t retention_ms = 0;

  static constexpr const char* type = "begin_hold";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("opened", s.opened), field("model", s.model),
                           field("tp_degree", s.tp_degree), field("block_tokens", s.block_tokens),
                           field("retention_ms", s.retention_ms));
  }
};

namespace source_hold {

enum class feed_status : std::uint8_t { opening, open, received, stopped };
/// `ended`: quiesced, and the ranks have been told to forget the sequence.
enum class kernels : std::uint8_t { idle, running, ending, quiesced, ended };

struct feed_entry {
  lane_plan plan;
  feed_status status = feed_status::opening;
};

struct body {
  begin_hold begun;
  instant lease_end; ///< of the grant at the latest: it was given before this hold began
  std::map<lane_id, feed_entry> feeds;
  kernels compute = kernels::idle;
  failure failed; ///< what the attempt was told, should it ask again
};

struct nascent {};
struct computing {
  body data;
};
struct offered {
  body data;
};
struct retained {
  body data;
};
struct draining {
  body data;
};
/// Waits for the pool's word that the blocks are free.
struct releasing {
  body data;
};
struct released {};

using state = std::variant<nascent, computing, offered, retained, draining, releasing, released>;
using event = std::variant<begin_hold, transfer_opened, transfer_refused, prefill_computed,
                           sequence_finished, sequence_quiesced, feed_opened, feed_received,
                           feed_stopped, feed_rejected, stop_lane, cancel_source, query_source,
                           evidence_due, retention_expired, blocks_reclaimed>;
using effect = std::variant<prefill_accepted, manifest_offered, submit_prefill, open_feed, ask_feed,
                            withdraw_feed, cancel_sequence, end_sequence, prefill_finished,
                            lane_landed, lane_stopped, quarantine_blocks, reclaim_blocks,
                            source_failed, source_released, arm_timer, arm_evidence, end_actor>;
using step_result = stepped<state, effect>;

[[nodiscard]] step_result step(state before, const event& event, instant now);

const char* name_of(const state& s);

/// The lane of an in-place hand-off: rank 0 stands for the group, which is one unit.
lane_id in_place_lane(const reservation_id& reservation);

} // namespace source_hold
} // namespace baton::protocol
