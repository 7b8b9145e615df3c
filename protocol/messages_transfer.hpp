// Messages of a lane: between a reservation and the destination end of its lanes, between a source
// hold and the source end (feed), and from the transfer device to both ends.
#pragma once

#include "protocol/messages_asked_again.hpp"

namespace baton::protocol {

// ---- reservation <-> lane (destination end)

/// Reservation -> transfer device of one destination rank: a new lane with its grants.
struct open_lane {
  lane_id lane;
  attempt_id attempt;
  head_range heads;
  node_name source_node;
  incarnation source_life; ///< whose offers are let in
  std::uint32_t source_tp = 0;
  std::vector<block_ref> blocks; ///< the blocks to be received, piece i is block i
  std::uint64_t resume_bytes = 0;
  reservation_id hold; ///< mapped: whose offer was taken
  incarnation writer;  ///< mapped: writes the blocks itself, never falsified; none: they are moved

  static constexpr const char* type = "open_lane";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("attempt", s.attempt),
                           field("heads", s.heads), field("source_node", s.source_node),
                           field("source_life", s.source_life), field("source_tp", s.source_tp),
                           field("blocks", s.blocks), field("resume_bytes", s.resume_bytes),
                           field("hold", s.hold), field("writer", s.writer));
  }
};

/// Lane -> reservation: the device's table holds the grants; offers are received from now on.
struct lane_opened {
  lane_id lane;

  static constexpr const char* type = "lane_opened";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// Lane -> reservation: unique coverage of the lane is complete, bytes verified and visible.
struct lane_landed {
  lane_id lane;
  std::uint64_t resume_digest = 0; ///< equal on all lanes of a reservation

  static constexpr const char* type = "lane_landed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("resume_digest", s.resume_digest));
  }
};

/// Lane -> reservation: bytes were wrong or can never arrive.
struct lane_failed {
  lane_id lane;
  failure why;

  static constexpr const char* type = "lane_failed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("why", s.why));
  }
};

/// Reservation -> lane: receive no more, and say when that is so.
struct stop_lane {
  lane_id lane;
  block_ref fence; ///< the lane's first block: names its grant also where the lane is unknown
  bool unread = false; ///< mapped: the blocks are in quarantine, and no kernel reads them

  static constexpr const char* type = "stop_lane";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("fence", s.fence),
                           field("unread", s.unread));
  }
};

/// Lane -> reservation: evidence. No receive is outstanding and none will be posted.
struct lane_stopped {
  lane_id lane;

  static constexpr const char* type = "lane_stopped";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// The lane's node is gone: no evidence will come from this life of it.
struct lane_lost {
  lane_id lane;
  failure why;

  static constexpr const char* type = "lane_lost";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("why", s.why));
  }
};

// ---- transfer device -> lane

/// The device's table of grants has the lane.
struct lane_admitted {
  lane_id lane;

  static constexpr const char* type = "lane_admitted";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// A piece's bytes are in place and visible (remotely_visible).
struct piece_landed {
  lane_id lane;
  std::uint32_t piece = 0;
  block_ref block;
  std::uint64_t bytes = 0;
  std::uint64_t resume_digest = 0; ///< of the payload piece

  static constexpr const char* type = "piece_landed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("piece", s.piece), field("block", s.block),
                           field("bytes", s.bytes), field("resume_digest", s.resume_digest));
  }
};

/// An offer was turned away, or its bytes were wrong; nothing of it is counted.
struct offer_refused {
  lane_id lane;
  std::uint32_t piece = 0;
  failure why;

  static constexpr const char* type = "offer_refused";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("piece", s.piece), field("why", s.why));
  }
};

/// After revoke_lane: every receive callback of the lane has fired.
struct receives_quiesced {
  lane_id lane;

  static constexpr const char* type = "receives_quiesced";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

// ---- lane -> transfer device

/// Enter the lane into the table of grants.
struct admit_lane {
  lane_id lane;

  static constexpr const char* type = "admit_lane";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// Take it out, and answer receives_quiesced.
struct revoke_lane {
  lane_id lane;

  static constexpr const char* type = "revoke_lane";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// Tell the source that every piece has landed.
struct send_receipt {
  lane_id lane;

  static constexpr const char* type = "send_receipt";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// Lane -> compute device: the final hidden state for this attempt's first token.
struct keep_resume {
  attempt_id attempt;
  packed_floats hidden;

  static constexpr const char* type = "keep_resume";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("hidden", s.hidden));
  }
};

// ---- source hold <-> feed (source end)

/// Hold -> transfer device of one source rank: offer the pieces of a lane as they become final.
struct open_feed {
  lane_id lane;
  attempt_id attempt;
  sequence_id sequence;
  head_range heads;
  node_name destination_node;
  std::vector<block_ref> source_blocks; ///< mapped: the destination's
  std::vector<block_ref> destination_blocks;
  bool mapped = false; ///< the blocks were written where they are to be: they are only announced
  std::uint32_t prompt_tokens = 0;
  std::uint32_t block_tokens = 0;
  fault_spec fault;

  static constexpr const char* type = "open_feed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("attempt", s.attempt),
                           field("sequence", s.sequence), field("heads", s.heads),
                           field("destination_node", s.destination_node),
                           field("source_blocks", s.source_blocks),
                           field("destination_blocks", s.destination_blocks),
                           field("mapped", s.mapped), field("prompt_tokens", s.prompt_tokens),
                           field("block_tokens", s.block_tokens), field("fault", s.fault));
  }
};

/// Hold -> feed: offer no more, and find out when the reader has stopped.
struct withdraw_feed {
  lane_id lane;
  block_ref fence; ///< the lane's first source block

  static constexpr const char* type = "withdraw_feed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("fence", s.fence));
  }
};

/// Feed -> hold: the destination has every piece and reads no more (receipt).
struct feed_received {
  lane_id lane;

  static constexpr const char* type = "feed_received";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// Feed -> hold: the destination says that it stopped; it reads no more.
struct feed_stopped {
  lane_id lane;
  failure why;

  static constexpr const char* type = "feed_stopped";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("why", s.why));
  }
};

/// Feed -> hold: the destination turned an offer away.
struct feed_rejected {
  lane_id lane;
  failure why;

  static constexpr const char* type = "feed_rejected";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("why", s.why));
  }
};

// ---- devices -> feed

/// Compute device -> feed: the kernels that wrote positions [0, computed_tokens) have completed.
struct source_ready {
  sequence_id sequence;
  std::uint32_t computed_tokens = 0;
  packed_floats resume; ///< with the prompt's last position

  static constexpr const char* type = "source_ready";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence),
                           field("computed_tokens", s.computed_tokens), field("resume", s.resume));
  }
};

/// Transfer device -> feed: the destination's receipt.
struct receipt_arrived {
  lane_id lane;

  static constexpr const char* type = "receipt_arrived";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// Transfer device -> feed: the destination stopped reading, or knows no such lane.
struct reader_stopped {
  lane_id lane;

  static constexpr const char* type = "reader_stopped";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// Transfer device -> feed.
struct offer_rejected {
  lane_id lane;
  std::uint32_t piece = 0;
  failure why;

  static constexpr const char* type = "offer_rejected";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("piece", s.piece), field("why", s.why));
  }
};

/// Timer of a feed: a lost notice is asked for again, not waited for.
struct query_due {
  static constexpr const char* type = "query_due";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// Timer of a feed whose script made it stall.
struct stall_ended {
  static constexpr const char* type = "stall_ended";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

// ---- feed -> transfer device

/// Offer one finished block.
struct offer_piece {
  lane_id lane;
  std::uint32_t piece = 0;

  static constexpr const char* type = "offer_piece";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("piece", s.piece));
  }
};

/// Offer the final hidden state, as the lane's last piece.
struct offer_resume {
  lane_id lane;

  static constexpr const char* type = "offer_resume";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// Drop offers that have not been posted. Proves nothing.
struct withdraw_offers {
  lane_id lane;

  static constexpr const char* type = "withdraw_offers";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// Ask the destination for the lane's receipt or stop again.
struct query_lane {
  lane_id lane;

  static constexpr const char* type = "query_lane";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

} // namespace baton::protocol
