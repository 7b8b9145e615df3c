// What a client asked, at the router: decides which attempt owns the request, forwards its stream
// and gives it one outcome.
//
//   open ──first frame of the committed attempt──▶ streaming ──last frame──▶ completed
//     └─────┬────────────────────────────────────────┘
//           ▼ attempt_failed, cancel_request, deadline_reached
//     failed | cancelled | interrupted (something was visible)
//
// Every ending then waits for its attempts to drain before the actor ends. The compare-and-swap of
// boundary 3 is claim_commit: one committed attempt at a time (I6). Only its frames pass, in order
// and without repeat (I8). Nothing restarts silently once a frame is visible. Frames come from
// another node: a gap ends the request, and so does an end that does not come although the attempt
// is done (frames_overdue).
#pragma once

#include "protocol/clock.hpp"
#include "protocol/messages_asked_again.hpp"
#include "protocol/messages_compute.hpp"
#include "protocol/step.hpp"

#include <variant>

namespace baton::protocol::request {

struct body {
  open_request opened;
  instant opened_at; ///< its deadline counts from here
  std::uint32_t ordinal = 0;   ///< of the current attempt, from 1
  std::uint32_t committed = 0; ///< ordinal of the attempt that owns the request; 0: none
  std::uint32_t next_frame = 0;
  std::uint32_t draining = 0;  ///< attempts that have not drained, the current one included
};

struct nascent {};
struct open {
  body data;
};
struct streaming {
  body data;
};
/// Terminal for the client; attempts still drain.
struct ended {
  body data;
  outcome_kind kind;
};
struct gone {};

using state = std::variant<nascent, open, streaming, ended, gone>;
using event = std::variant<open_request, claim_commit, commit_abandoned, token_emitted,
                           phase_entered, attempt_failed, attempt_drained, cancel_request,
                           deadline_reached, frames_overdue>;
using effect = std::variant<start_attempt, cancel_attempt, commit_claimed, frame_forwarded,
                            request_ended, arm_timer, arm_frames, end_actor>;
using step_result = stepped<state, effect>;

[[nodiscard]] step_result step(state before, const event& event, instant now);

/// A terminal state is named by its outcome: "completed", "failed", "cancelled", "interrupted",
/// "refused".
const char* name_of(const state& s);

/// True when `r` says that the request never got in, as opposed to having failed inside.
bool is_refusal(reason r);

} // namespace baton::protocol::request
