// The source end of one lane: offers the lane's pieces as the prompt's blocks become final, and
// finds out when nobody reads them any more.
//
//   offering ──all offered──▶ offered ──receipt_arrived──▶ received
//      └───────────┬─────────────┘ withdraw_feed
//                  ▼
//              withdrawn ──reader_stopped | receipt_arrived──▶ stopped
//
// Only the reader's own word (receipt or stop) releases the source's memory (I14): a completed
// send, a closed channel or silence does not. A lost word is asked for again, of the reader by
// query_lane, and by the hold of this feed: a repeated open_feed and ask_feed are answered.
#pragma once

#include "protocol/clock.hpp"
#include "protocol/messages_transfer.hpp"
#include "protocol/step.hpp"

#include <variant>

namespace baton::protocol {

/// Wake the feed after a scripted stall.
struct arm_stall {
  std::int64_t delay_ms = 0;

  static constexpr const char* type = "arm_stall";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("delay_ms", s.delay_ms));
  }
};

namespace feed {

/// A feed that a script makes stall passes through not_yet, stalled and over.
enum class stall_phase : std::uint8_t { not_yet, stalled, over };

struct body {
  open_feed opened;
  std::uint32_t computed_tokens = 0;
  std::uint32_t next_piece = 0; ///< all before it were offered
  bool resume_ready = false;
  bool resume_offered = false;
  stall_phase stall = stall_phase::over;
  failure rejected; ///< what the hold was told, should it ask again
};

struct nascent {};
struct offering {
  body data;
};
struct offered {
  body data;
};
struct withdrawn {
  body data;
};
struct received {};
struct stopped {};

using state = std::variant<nascent, offering, offered, withdrawn, received, stopped>;
using event = std::variant<open_feed, ask_feed, source_ready, receipt_arrived, reader_stopped,
                           offer_rejected, withdraw_feed, query_due, stall_ended>;
using effect = std::variant<offer_piece, offer_resume, withdraw_offers, query_lane, feed_opened,
                            feed_received, feed_stopped, feed_rejected, arm_timer, arm_stall,
                            end_actor>;
using step_result = stepped<state, effect>;

[[nodiscard]] step_result step(state before, const event& event, instant now);

const char* name_of(const state& s);

} // namespace feed
} // namespace baton::protocol
