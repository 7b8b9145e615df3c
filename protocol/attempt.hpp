// One try at a request, at the router: places it, reserves at the decode group, starts the prefill,
// claims the commit, and keeps account of what it still has to see returned.
//
//   placing ─▶ reserving ─▶ prefilling ─▶ handing_off ─▶ committing ─▶ decoding ─▶ done
//      └──────────┴────────────┴─────────────┴──────────────┴────────────┴─▶ abandoned
//                                           done | abandoned ──everything returned──▶ drained
//
// An attempt owes evidence for both sides: it drains only when the reservation and the source hold
// have each said that their memory is back (or were never granted). I16.
#pragma once

#include "protocol/clock.hpp"
#include "protocol/messages_reserve.hpp"
#include "protocol/step.hpp"

#include <variant>

namespace baton::protocol {

/// Effect: ask the router for groups.
struct place_attempt {
  attempt_id attempt;
  request_spec spec;

  static constexpr const char* type = "place_attempt";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("spec", s.spec));
  }
};

struct attempt_placed {
  attempt_id attempt;
  source_side source;
  group_name decode_group;

  static constexpr const char* type = "attempt_placed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("source", s.source),
                           field("decode_group", s.decode_group));
  }
};

struct place_refused {
  attempt_id attempt;
  failure why;

  static constexpr const char* type = "place_refused";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("why", s.why));
  }
};

/// The router lost a group that this attempt uses: nothing more will be said from that life of it.
struct group_lost {
  group_name group;
  failure why;

  static constexpr const char* type = "group_lost";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("group", s.group), field("why", s.why));
  }
};

namespace attempt {

/// What one side owes: nothing, an answer, or its memory back.
enum class debt : std::uint8_t { none, asked, held, returned };

struct body {
  start_attempt begun;
  instant begun_at; ///< begun.deadline_ms counts from here
  attempt_placed placed;
  grant granted;
  debt destination = debt::none;
  debt source = debt::none;
};

struct nascent {};
struct placing {
  body data;
};
struct reserving {
  body data;
};
struct prefilling {
  body data;
};
struct handing_off {
  body data;
};
struct committing {
  body data;
  bool claimed = false; ///< the router's claim is ours; the destination has yet to say committed
};
struct decoding {
  body data;
};
struct done {
  body data;
};
struct abandoned {
  body data;
  failure why;
};
struct drained {};

using state = std::variant<nascent, placing, reserving, prefilling, handing_off, committing,
                           decoding, done, abandoned, drained>;
using event
  = std::variant<start_attempt, attempt_placed, place_refused, reserve_granted, reserve_refused,
                 prefill_accepted, prefill_refused, prefill_finished, transfer_completed,
                 commit_claimed, committed, commit_refused, decode_finished, reservation_revoked,
                 source_failed, reservation_reclaimed, reservation_quarantined, source_released,
                 cancel_attempt, group_lost>;
using effect
  = std::variant<place_attempt, reserve_request, start_prefill, withdraw_attempt, claim_commit,
                 commit, commit_abandoned, revoke_reservation, cancel_source, phase_entered,
                 attempt_failed, attempt_drained, end_actor>;
using step_result = stepped<state, effect>;

[[nodiscard]] step_result step(state before, const event& event, instant now);

const char* name_of(const state& s);

} // namespace attempt
} // namespace baton::protocol
