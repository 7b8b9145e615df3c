// What is asked when a word may have been lost: no wait between two nodes ends with silence. A
// question changes nothing, and it is answered from the state of whoever is asked, as often as it
// comes. Each is sent when a bounded timer of the asker fires; the timers are here too.
//
//   attempt ──query_reservation, query_source──▶ pool ──▶ reservation, source hold
//   reservation ──ask_lane──▶ lane                        source hold ──ask_feed──▶ feed
#pragma once

#include "protocol/messages_reserve.hpp"

namespace baton::protocol {

// ---- attempt -> pool -> holder

/// What is your last word? A reservation that is gone is answered for by its pool:
/// reservation_reclaimed.
struct query_reservation {
  attempt_id attempt;
  reservation_id reservation;

  static constexpr const char* type = "query_reservation";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("reservation", s.reservation));
  }
};

/// The same of a source hold; for one that is gone the pool says source_released.
struct query_source {
  attempt_id attempt;
  reservation_id hold;

  static constexpr const char* type = "query_source";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("hold", s.hold));
  }
};

/// Timer of an attempt: what it waits for has not come within answer_wait_ms_max.
struct answer_overdue {
  static constexpr const char* type = "answer_overdue";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// Ask the shell for answer_overdue after so long.
struct arm_answer {
  std::int64_t delay_ms = 0;

  static constexpr const char* type = "arm_answer";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("delay_ms", s.delay_ms));
  }
};

/// The side of a hand-off that a pool has to do with: a mixed group's has both.
enum class hand_off_side : std::uint8_t { destination, source };
const char* to_string(hand_off_side side);
constexpr hand_off_side last_value(hand_off_side) { return hand_off_side::source; }

/// Attempt -> pool: it asked, has no answer, and waits no longer. What it was granted is revoked or
/// cancelled; when there is nothing (any more), the answer is the refusal of what it asked for.
struct withdraw_attempt {
  attempt_id attempt;
  hand_off_side side = hand_off_side::destination;
  failure why;

  static constexpr const char* type = "withdraw_attempt";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("side", s.side),
                           field("why", s.why));
  }
};

// ---- reservation -> source hold, lane; source hold -> feed

/// Reservation, or its pool when it is gone -> source hold: nothing will be received from it.
struct transfer_refused {
  reservation_id reservation;
  reservation_id hold;
  failure why;

  static constexpr const char* type = "transfer_refused";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("reservation", s.reservation), field("hold", s.hold),
                           field("why", s.why));
  }
};

/// Are you open, landed or failed? A rank that does not know the lane has nothing to say.
struct ask_lane {
  lane_id lane;

  static constexpr const char* type = "ask_lane";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// Are you open, received or stopped? How a feed has ended its rank knows (lane_floor.hpp).
struct ask_feed {
  lane_id lane;
  block_ref fence; ///< the lane's first source block

  static constexpr const char* type = "ask_feed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("fence", s.fence));
  }
};

/// Feed -> hold: the feed offers, and will say how it ends.
struct feed_opened {
  lane_id lane;

  static constexpr const char* type = "feed_opened";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane));
  }
};

/// Timer of a reservation or source hold: evidence has not come within evidence_wait_ms_max. It is
/// asked for again, for as long as it takes: silence proves nothing.
struct evidence_due {
  static constexpr const char* type = "evidence_due";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// Ask the shell for evidence_due after so long.
struct arm_evidence {
  std::int64_t delay_ms = 0;

  static constexpr const char* type = "arm_evidence";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("delay_ms", s.delay_ms));
  }
};

// ---- request

/// Timer of a request whose attempt is done: frames that have not come by now were lost.
struct frames_overdue {
  static constexpr const char* type = "frames_overdue";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// Ask the shell for frames_overdue after so long.
struct arm_frames {
  std::int64_t delay_ms = 0;

  static constexpr const char* type = "arm_frames";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("delay_ms", s.delay_ms));
  }
};

} // namespace baton::protocol
