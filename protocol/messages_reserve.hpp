// Messages of the four boundaries: reserve, transfer, commit, retire. Between an attempt (router),
// a reservation and its pool (decode group) and a source hold and its pool (prefill group).
#pragma once

#include "protocol/head_map.hpp"
#include "protocol/manifest.hpp"
#include "protocol/messages_request.hpp"

namespace baton::protocol {

/// What the router knows of the group that will compute the prompt.
struct source_side {
  group_name group;
  std::uint32_t tp_degree = 0;
  std::vector<incarnation> ranks; ///< life of each rank's node

  static constexpr const char* type = "source_side";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("group", s.group), field("tp_degree", s.tp_degree),
                           field("ranks", s.ranks));
  }
};

/// Boundary 1, attempt -> decode pool: charge capacity before any prefill work starts.
struct reserve_request {
  attempt_id attempt;
  request_spec spec;
  token_list prompt; ///< the router's canonical ids
  source_side source;
  std::int64_t deadline_ms = 0; ///< remaining; 0: none

  static constexpr const char* type = "reserve_request";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("spec", s.spec),
                           field("prompt", s.prompt), field("source", s.source),
                           field("deadline_ms", s.deadline_ms));
  }
};

/// A reservation's answer. Block i of the table holds tokens [i * block_tokens, …) on every rank.
struct grant {
  attempt_id attempt;
  reservation_id reservation;
  sequence_id sequence;
  group_name group;
  incarnation destination; ///< life of the decode group's leader
  std::vector<block_ref> blocks;
  std::uint32_t prompt_blocks = 0;  ///< the first so many are transferred
  std::uint32_t prefix_tokens = 0;  ///< valid at the destination already: not sent
  std::int64_t lease_ms = 0;        ///< remaining when sent; only the destination's clock decides
  std::uint32_t tp_degree = 0;
  bool in_place = false; ///< the prefiller writes the blocks itself, and has none of its own …
  bool mapped = false;   ///< … of another group, rank by rank: it has their memory mapped
  std::uint64_t bytes = 0;          ///< charged, all ranks

  static constexpr const char* type = "grant";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(
      field("attempt", s.attempt), field("reservation", s.reservation),
      field("sequence", s.sequence), field("group", s.group), field("destination", s.destination),
      field("blocks", s.blocks), field("prompt_blocks", s.prompt_blocks),
      field("prefix_tokens", s.prefix_tokens), field("lease_ms", s.lease_ms),
      field("tp_degree", s.tp_degree), field("in_place", s.in_place), field("mapped", s.mapped),
      field("bytes", s.bytes));
  }
};

struct reserve_granted {
  grant granted;

  static constexpr const char* type = "reserve_granted";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("granted", s.granted));
  }
};

struct reserve_refused {
  attempt_id attempt;
  failure why;

  static constexpr const char* type = "reserve_refused";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("why", s.why));
  }
};

/// Attempt -> prefill pool, after the grant.
struct start_prefill {
  attempt_id attempt;
  request_spec spec;
  token_list prompt;
  grant granted;
  std::int64_t deadline_ms = 0; ///< remaining; 0: none

  static constexpr const char* type = "start_prefill";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("spec", s.spec),
                           field("prompt", s.prompt), field("granted", s.granted),
                           field("deadline_ms", s.deadline_ms));
  }
};

struct prefill_refused {
  attempt_id attempt;
  failure why;

  static constexpr const char* type = "prefill_refused";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("why", s.why));
  }
};

struct prefill_accepted {
  attempt_id attempt;
  reservation_id hold;

  static constexpr const char* type = "prefill_accepted";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("hold", s.hold));
  }
};

/// Every rank has computed its share of the whole prompt (source_ready for the last chunk).
struct prefill_finished {
  attempt_id attempt;
  reservation_id hold;

  static constexpr const char* type = "prefill_finished";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("hold", s.hold));
  }
};

/// Source hold -> destination pool -> reservation: what the source is about to send. The two ids
/// are beside the manifest, for that one may be wrong.
struct manifest_offered {
  manifest offered;
  reservation_id reservation;
  reservation_id hold; ///< a reservation takes the offers of one hold

  static constexpr const char* type = "manifest_offered";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("offered", s.offered), field("reservation", s.reservation),
                           field("hold", s.hold));
  }
};

/// Reservation -> source hold: the manifest matched and every lane's grants are in the tables.
struct transfer_opened {
  reservation_id reservation;
  std::vector<lane_plan> lanes;
  reservation_id hold;

  static constexpr const char* type = "transfer_opened";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("reservation", s.reservation), field("lanes", s.lanes),
                           field("hold", s.hold));
  }
};

/// Reservation -> attempt: complete and verified on every rank (received). Not yet readable.
struct transfer_completed {
  attempt_id attempt;
  reservation_id reservation;

  static constexpr const char* type = "transfer_completed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("reservation", s.reservation));
  }
};

/// Boundary 3, attempt -> reservation, after the router's compare-and-swap.
struct commit {
  attempt_id attempt;
  reservation_id reservation;
  std::uint64_t generation_sum = 0;

  static constexpr const char* type = "commit";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("reservation", s.reservation),
                           field("generation_sum", s.generation_sum));
  }
};

struct committed {
  attempt_id attempt;

  static constexpr const char* type = "committed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt));
  }
};

struct commit_refused {
  attempt_id attempt;
  failure why;

  static constexpr const char* type = "commit_refused";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("why", s.why));
  }
};

/// Attempt -> reservation: this reservation will not be used (any more).
struct revoke_reservation {
  attempt_id attempt;
  reservation_id reservation;
  failure why;

  static constexpr const char* type = "revoke_reservation";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("reservation", s.reservation),
                           field("why", s.why));
  }
};

/// Reservation -> attempt: it ended early (lease, manifest, integrity). Memory is still charged.
struct reservation_revoked {
  attempt_id attempt;
  reservation_id reservation;
  failure why;

  static constexpr const char* type = "reservation_revoked";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("reservation", s.reservation),
                           field("why", s.why));
  }
};

/// Reservation -> attempt: generation has ended; retirement begins.
struct decode_finished {
  attempt_id attempt;
  finish_reason finish = finish_reason::none;
  failure why; ///< set when decoding failed
  std::uint32_t tokens = 0;

  static constexpr const char* type = "decode_finished";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("finish", s.finish),
                           field("why", s.why), field("tokens", s.tokens));
  }
};

/// Reservation -> attempt: the credit is back, on evidence. Of one that is gone its pool says so.
struct reservation_reclaimed {
  attempt_id attempt;
  reservation_id reservation;

  static constexpr const char* type = "reservation_reclaimed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("reservation", s.reservation));
  }
};

/// Reservation -> attempt: proof is missing; the blocks stay charged as quarantined.
struct reservation_quarantined {
  attempt_id attempt;
  reservation_id reservation;
  failure why;

  static constexpr const char* type = "reservation_quarantined";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("reservation", s.reservation),
                           field("why", s.why));
  }
};

/// Attempt -> source hold: stop computing and offering.
struct cancel_source {
  attempt_id attempt;
  reservation_id hold;
  failure why;

  static constexpr const char* type = "cancel_source";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("hold", s.hold),
                           field("why", s.why));
  }
};

/// Source hold -> attempt: the prompt cannot be computed or sent.
struct source_failed {
  attempt_id attempt;
  reservation_id hold;
  failure why;

  static constexpr const char* type = "source_failed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("hold", s.hold),
                           field("why", s.why));
  }
};

/// Source hold -> attempt: the source's blocks are back, on evidence.
struct source_released {
  attempt_id attempt;
  reservation_id hold;

  static constexpr const char* type = "source_released";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("hold", s.hold));
  }
};

// ---- with the pool

/// The three changes a holder asks of its pool; each names its reservation, none names a number.
struct mark_live {
  reservation_id reservation;

  static constexpr const char* type = "mark_live";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("reservation", s.reservation));
  }
};

struct quarantine_blocks {
  reservation_id reservation;

  static constexpr const char* type = "quarantine_blocks";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("reservation", s.reservation));
  }
};

/// Only after every lane is proven stopped and every reader quiesced. A second one changes nothing.
struct reclaim_blocks {
  reservation_id reservation;

  static constexpr const char* type = "reclaim_blocks";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("reservation", s.reservation));
  }
};

struct blocks_reclaimed {
  reservation_id reservation;

  static constexpr const char* type = "blocks_reclaimed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("reservation", s.reservation));
  }
};

} // namespace baton::protocol
