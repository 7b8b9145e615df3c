// One rank's memory of the lanes that may not begin any more: each lane begins once, whatever is
// repeated or overtaken on the way to the rank.
//
//   open_lane:  known: it answers   may_begin: start it     else: it has ended; say so again
//   stop_lane:  known: it stops     else: forbid, and say that it has stopped
//
// Without this, "that lane is unknown, so it has stopped" would be a lie: its open_lane may still
// be on the way, and the lane would begin to write into blocks that are another request's by then.
// The fence is a generation, not a time and not a list of lanes. A lane's first block with its
// generation names one grant for ever (I4), and the floor keeps the highest generation for each
// block and peer rank. So it is bounded by the pool's size, and forgets nothing that matters.
// A destination rank has one for its lanes, a source rank one for its feeds; both live as long as
// the group does, whose leader never repeats a generation in its life. A mapped feed's blocks are
// the destination's, and its next life begins to count again: so a feed's peer is one life of a
// rank, and the floor of a source rank is bounded by the destination's pool and restarts.
#pragma once

#include "protocol/messages_transfer.hpp"

#include <map>
#include <optional>
#include <utility>
#include <variant>

namespace baton::protocol {

/// The rank at the other end.
struct lane_peer {
  rank_id rank;
  incarnation owner = {}; ///< of the destination's memory; none where that is this end's own

  friend bool operator<(const lane_peer& a, const lane_peer& b) {
    return a.owner != b.owner ? a.owner < b.owner : a.rank < b.rank;
  }
};
inline lane_peer writer_of(const lane_id& lane) { return {lane.source}; }
inline lane_peer reader_of(const lane_id& lane) {
  return {lane.destination, lane.reservation.owner};
}

class lane_floor {
public:
  /// True once for each lane, and never after forbid. `fence` is the lane's first block at this
  /// end.
  bool may_begin(const lane_peer& peer, const block_ref& fence);

  /// The lane does not begin any more, if it has not begun.
  void forbid(const lane_peer& peer, const block_ref& fence);

  /// The lane has begun, and ended by its reader's receipt (a feed).
  void note_received(const lane_peer& peer, const block_ref& fence);
  bool was_received(const lane_peer& peer, const block_ref& fence) const;

  static constexpr const char* type = "lane_floor";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("floors", s.floors_));
  }

private:
  struct entry {
    generation highest;
    bool received = false; ///< that lane ended by a receipt
  };
  std::map<std::pair<lane_peer, block_id>, entry> floors_;
};

// ---- what a rank says of a lane or feed that does not live on it

/// To the hold. A feed that is not here offers nothing, so that nobody reads for it.
using feed_ending = std::variant<feed_received, feed_stopped>;

/// Nothing: begin the lane. Else it has stopped, or may not begin any more.
std::optional<lane_stopped> meet_absent(lane_floor& lanes, const open_lane& asked);
lane_stopped meet_absent(lane_floor& lanes, const stop_lane& asked);

/// Nothing: begin the feed. Else how it has ended.
std::optional<feed_ending> meet_absent(lane_floor& feeds, const open_feed& asked);
feed_ending meet_absent(lane_floor& feeds, const withdraw_feed& asked);
feed_ending meet_absent(lane_floor& feeds, const ask_feed& asked);

} // namespace baton::protocol
