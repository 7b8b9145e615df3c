// One try at a request, at the router: places it, reserves at the decode group, starts the prefill,
// claims the commit, and keeps account of what it still has to see returned.
//
//   placing ─▶ reserving ─▶ prefilling ─▶ handing_off ─▶ committing ─▶ decoding ─▶ done
//      └──────────┴────────────┴─────────────┴──────────────┴────────────┴─▶ abandoned
//                                           done | abandoned ──everything returned──▶ drained
//
// An attempt owes evidence for both sides: it drains only when the reservation and the source hold
// have each said that their memory is back (or were never granted). I16.
//
// Its words to both sides, and theirs to it, may be lost, repeated or late. While it waits for
// anything it asks again each answer_wait_ms_max (answer_overdue). A word of a reservation or hold
// that is not its own belongs to a repeated question: what was granted to that is given back.
#pragma once

#include "protocol/clock.hpp"
#include "protocol/messages_asked_again.hpp"
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
  reservation_id hold; ///< the source's, once it has said a word
  debt destination = debt::none;
  debt source = debt::none;
};

struct nascent {};
struct placing {
  body data;
};
struct reserving {
  body data;
  bool asked_again = false; ///< a refusal is not the answer to every question
};
struct prefilling {
  body data;
  bool asked_again = false;
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
                 cancel_attempt, group_lost, answer_overdue>;
using effect
  = std::variant<place_attempt, reserve_request, start_prefill, withdraw_attempt, claim_commit,
                 commit, commit_abandoned, revoke_reservation, query_reservation, cancel_source,
                 query_source, phase_entered, attempt_failed, attempt_drained, arm_answer,
                 end_actor>;
using step_result = stepped<state, effect>;

[[nodiscard]] step_result step(state before, const event& event, instant now);

const char* name_of(const state& s);

} // namespace attempt
} // namespace baton::protocol
