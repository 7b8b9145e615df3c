// One group's KV blocks and the credit charged against them. The pool is the only place where a
// block changes hands, and block b means the same piece of memory on every rank of the group.
//
//   free ──grant──▶ leased ──mark_live──▶ live
//    ▲                 └───────┬────────────┘ quarantine_blocks (stop asked, proof outstanding)
//    │                         ▼
//    └──reclaim_blocks── quarantined          generation + 1; never leased|live ─▶ free
//
// Both sides of a hand-off have a pool: the decode group's grants reservations, the prefill group's
// grants source holds, a mixed group's grants both.
//
// Whoever speaks to a reservation or source hold from another node speaks to its pool, which passes
// the word on, or answers for a holder that is gone: its number was given and nothing is held under
// it, so that its memory is back. That needs no record of those that were.
#pragma once

#include "protocol/clock.hpp"
#include "protocol/cost_rates.hpp"
#include "protocol/messages_asked_again.hpp"
#include "protocol/step.hpp"

#include <deque>
#include <map>
#include <optional>
#include <variant>

namespace baton::protocol {

/// First event of a pool: what it owns and how much may be charged.
struct form_pool {
  group_name group;
  incarnation owner;
  std::uint32_t blocks = 0;
  std::uint64_t block_bytes = 0; ///< of one block on all ranks together
  std::uint32_t block_tokens = 0;
  std::uint32_t tp_degree = 0;
  std::uint32_t decode_slots = 0;          ///< 0: the group does not decode
  std::uint32_t quarantine_blocks_max = 0; ///< past it the pool refuses; 0: while any is there
  std::uint32_t waiting_max = 0;           ///< requests that may wait for room
  /// Of hand-offs that are granted and have not landed, on all ranks together.
  std::uint64_t inflight_bytes_max = limits::inflight_bytes_default;
  cost_rates rates;
  /// The prefill group has this pool's memory mapped, and writes into what is granted.
  bool mapped = false;

  static constexpr const char* type = "form_pool";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(
      field("group", s.group), field("owner", s.owner), field("blocks", s.blocks),
      field("block_bytes", s.block_bytes), field("block_tokens", s.block_tokens),
      field("tp_degree", s.tp_degree), field("decode_slots", s.decode_slots),
      field("quarantine_blocks_max", s.quarantine_blocks_max),
      field("waiting_max", s.waiting_max), field("inflight_bytes_max", s.inflight_bytes_max),
      field("rates", s.rates), field("mapped", s.mapped));
  }
};

/// Somebody has waited as long as its request allows.
struct wait_expired {
  static constexpr const char* type = "wait_expired";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// Effect: start the actor of a reservation that has just been granted.
struct open_reservation {
  reserve_request asked;
  grant granted;

  static constexpr const char* type = "open_reservation";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("asked", s.asked), field("granted", s.granted));
  }
};

/// Effect: start the actor of a source hold. `hold` names its blocks in this pool.
struct open_hold {
  start_prefill asked;
  reservation_id hold;
  sequence_id sequence;
  std::vector<block_ref> blocks; ///< empty in place: the reservation's blocks are written

  static constexpr const char* type = "open_hold";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("asked", s.asked), field("hold", s.hold),
                           field("sequence", s.sequence), field("blocks", s.blocks));
  }
};

namespace pool {

struct block_free {
  generation next;
};
struct block_leased {
  std::uint64_t holder = 0;
  generation gen;
};
struct block_live {
  std::uint64_t holder = 0;
  generation gen;
};
struct block_quarantined {
  std::uint64_t holder = 0;
  generation gen;
};
using block_state = std::variant<block_free, block_leased, block_live, block_quarantined>;

enum class holding_phase : std::uint8_t { leased, live, quarantined };

/// What a hand-off will do, as far as its request says: the ground of admission's forecasts.
struct workload {
  group_name source; ///< computes the prompt
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0; ///< 0 for a source hold
  std::int64_t hold_ms = 0;
  std::uint64_t inflight_bytes = 0; ///< not landed yet, all ranks; none in place
};

/// What one reservation or source hold is charged.
struct holding {
  attempt_id attempt;
  std::vector<block_id> blocks;
  holding_phase phase = holding_phase::leased;
  bool decodes = false; ///< holds a decode slot
  workload work;
  instant since; ///< its grant; once live, its commit
};

/// Somebody who waits for room; `expires` is on this node's clock.
struct waiting {
  std::variant<reserve_request, start_prefill> asked;
  instant expires;
  instant since;
};

/// The three accounts of the ledger, in blocks, and the slots.
struct accounts {
  std::uint32_t free = 0;
  std::uint32_t leased = 0;
  std::uint32_t live = 0;
  std::uint32_t quarantined = 0;
  std::uint32_t slots_used = 0;
  std::uint64_t inflight_bytes = 0; ///< granted, and neither landed nor proven unable to land
};

struct state {
  form_pool config;
  std::vector<block_state> blocks;
  std::vector<block_id> free_list; ///< last in, first out: hot IDs provoke reuse, and stay in cache
  std::map<std::uint64_t, holding> holdings; ///< by reservation number
  std::deque<waiting> queue;
  std::uint64_t next_number = 1;
  std::uint64_t next_sequence = 1;
  accounts ledger;
};

using event = std::variant<form_pool, reserve_request, start_prefill, withdraw_attempt,
                           manifest_offered, commit, revoke_reservation, query_reservation,
                           cancel_source, query_source, mark_live, quarantine_blocks,
                           reclaim_blocks, wait_expired>;
/// manifest_offered, commit, revoke_reservation and query_reservation go to the reservation that
/// they name; cancel_source and query_source to the hold.
using effect
  = std::variant<open_reservation, reserve_refused, open_hold, prefill_refused, manifest_offered,
                 commit, revoke_reservation, query_reservation, cancel_source, query_source,
                 transfer_refused, reservation_reclaimed, source_released, blocks_reclaimed,
                 arm_timer>;
using step_result = stepped<state, effect>;

/// The only way to change a pool. A reclaim of an unknown or already reclaimed holder answers again
/// and changes nothing; one of blocks that are not quarantined is a broken invariant (I3).
[[nodiscard]] step_result step(state before, const event& event, instant now);

/// "ready" or "nascent", for traces.
const char* name_of(const state& s);

/// Blocks that the prompt and the output budget take together.
std::uint32_t blocks_needed(const form_pool& config, std::uint32_t prompt_tokens,
                            std::uint32_t output_tokens);

} // namespace pool
} // namespace baton::protocol
