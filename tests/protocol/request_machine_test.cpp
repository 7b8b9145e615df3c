#include "protocol/request.hpp"

#include "tests/protocol/hand_off_samples.hpp"
#include "tests/protocol/machine_table.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

struct machine {
  using state = request::state;
  using event = request::event;
  static request::step_result step(state before, const event& event) {
    return request::step(std::move(before), event, {});
  }
  static const char* name_of(const state& s) { return request::name_of(s); }
};

using state = request::state;

const failure left{reason::cancelled, "the client left"};
const failure lost{reason::peer_lost, "P7 is gone"};
const failure full{reason::no_capacity, "D3 is full"};

state after(state s, const std::vector<request::event>& events) {
  for (const auto& e : events)
    s = machine::step(std::move(s), e).state;
  return s;
}

open_request opened(std::uint32_t retries = 0) {
  return {sample_attempt().request, sample_spec({2, 2, false, retries}), {1}};
}

token_emitted token(std::uint32_t index, finish_reason finish = finish_reason::none,
                    std::uint32_t ordinal = 1) {
  return {sample_attempt(ordinal), index, {7}, finish, {}, 0};
}

const claim_commit claims{sample_attempt()};
const attempt_failed fails{sample_attempt(), lost};
const attempt_drained drains{sample_attempt()};
const cancel_request cancels{{"req-1"}, left};

state nascent() { return {}; }
state open() { return after(nascent(), {opened()}); }
state owned() { return after(open(), {claims}); }
state retried() { return after(nascent(), {opened(1), claims, fails}); }
state streaming() { return after(owned(), {token(0)}); }
state completed() {
  return after(streaming(), {token(1), token(2, finish_reason::length)});
}
state cancelled() { return after(streaming(), {cancels}); }
state interrupted() { return after(streaming(), {fails}); }
state gone() { return after(completed(), {drains}); }

std::vector<labelled<request::event>> every_event() {
  return {
    {"open_request", opened()},
    {"claim_commit", claims},
    {"claim_commit, attempt 2", claim_commit{sample_attempt(2)}},
    {"commit_abandoned", commit_abandoned{sample_attempt()}},
    {"token_emitted, first", token(0)},
    {"token_emitted, second", token(1)},
    {"token_emitted, third and last", token(2, finish_reason::length)},
    {"token_emitted, attempt 2", token(0, finish_reason::none, 2)},
    {"phase_entered", phase_entered{sample_attempt(), attempt_phase::decoding}},
    {"phase_entered, done", phase_entered{sample_attempt(), attempt_phase::done}},
    {"attempt_failed", fails},
    {"attempt_failed, refused", attempt_failed{sample_attempt(), full}},
    {"attempt_failed, attempt 2", attempt_failed{sample_attempt(2), lost}},
    {"attempt_drained", drains},
    {"cancel_request", cancels},
    {"deadline_reached", deadline_reached{}},
    {"frames_overdue", frames_overdue{}},
  };
}

void table(const state& s, const std::string& expected) {
  check_table<machine>(s, every_event(), expected);
}

const request_ended& ending_of(const request::step_result& result) {
  return std::get<request_ended>(result.effects.back());
}

} // namespace

TEST_CASE("a request begins by being opened") {
  table(nascent(), R"(
    open_request -> open: start_attempt
    claim_commit -> aborts
    claim_commit, attempt 2 -> aborts
    commit_abandoned -> aborts
    token_emitted, first -> aborts
    token_emitted, second -> aborts
    token_emitted, third and last -> aborts
    token_emitted, attempt 2 -> aborts
    phase_entered -> aborts
    phase_entered, done -> aborts
    attempt_failed -> aborts
    attempt_failed, refused -> aborts
    attempt_failed, attempt 2 -> aborts
    attempt_drained -> aborts
    cancel_request -> aborts
    deadline_reached -> aborts
    frames_overdue -> aborts
  )");
}

TEST_CASE("an open request lets the current attempt claim it, and forwards nothing yet") {
  table(open(), R"(
    open_request -> aborts
    claim_commit -> open: commit_claimed
    claim_commit, attempt 2 -> open: commit_claimed
    commit_abandoned -> same
    token_emitted, first -> same
    token_emitted, second -> same
    token_emitted, third and last -> same
    token_emitted, attempt 2 -> same
    phase_entered -> same
    phase_entered, done -> open: arm_frames
    attempt_failed -> failed: request_ended
    attempt_failed, refused -> refused: request_ended
    attempt_failed, attempt 2 -> same
    attempt_drained -> same
    cancel_request -> cancelled: cancel_attempt request_ended
    deadline_reached -> failed: cancel_attempt request_ended
    frames_overdue -> failed: request_ended
  )");
}

TEST_CASE("a committed request forwards its owner's frames in order") {
  table(owned(), R"(
    open_request -> aborts
    claim_commit -> open: commit_claimed
    claim_commit, attempt 2 -> open: commit_claimed
    commit_abandoned -> same
    token_emitted, first -> streaming: frame_forwarded
    token_emitted, second -> failed: cancel_attempt request_ended
    token_emitted, third and last -> failed: cancel_attempt request_ended
    token_emitted, attempt 2 -> same
    phase_entered -> same
    phase_entered, done -> open: arm_frames
    attempt_failed -> failed: request_ended
    attempt_failed, refused -> refused: request_ended
    attempt_failed, attempt 2 -> same
    attempt_drained -> same
    cancel_request -> cancelled: cancel_attempt request_ended
    deadline_reached -> failed: cancel_attempt request_ended
    frames_overdue -> failed: request_ended
  )");
}

TEST_CASE("a retried request listens to the later attempt only") {
  table(retried(), R"(
    open_request -> aborts
    claim_commit -> open: commit_claimed
    claim_commit, attempt 2 -> open: commit_claimed
    commit_abandoned -> same
    token_emitted, first -> same
    token_emitted, second -> same
    token_emitted, third and last -> same
    token_emitted, attempt 2 -> same
    phase_entered -> same
    phase_entered, done -> same
    attempt_failed -> same
    attempt_failed, refused -> same
    attempt_failed, attempt 2 -> failed: request_ended
    attempt_drained -> same
    cancel_request -> cancelled: cancel_attempt request_ended
    deadline_reached -> failed: cancel_attempt request_ended
    frames_overdue -> failed: request_ended
  )");
}

TEST_CASE("a streaming request forwards each frame once and never restarts") {
  table(streaming(), R"(
    open_request -> aborts
    claim_commit -> streaming: commit_claimed
    claim_commit, attempt 2 -> streaming: commit_claimed
    commit_abandoned -> same
    token_emitted, first -> same
    token_emitted, second -> streaming: frame_forwarded
    token_emitted, third and last -> interrupted: cancel_attempt request_ended
    token_emitted, attempt 2 -> same
    phase_entered -> same
    phase_entered, done -> streaming: arm_frames
    attempt_failed -> interrupted: request_ended
    attempt_failed, refused -> interrupted: request_ended
    attempt_failed, attempt 2 -> same
    attempt_drained -> same
    cancel_request -> cancelled: cancel_attempt request_ended
    deadline_reached -> interrupted: cancel_attempt request_ended
    frames_overdue -> interrupted: request_ended
  )");
}

TEST_CASE("a completed request only waits for its attempts") {
  table(completed(), R"(
    open_request -> aborts
    claim_commit -> completed: commit_claimed
    claim_commit, attempt 2 -> completed: commit_claimed
    commit_abandoned -> same
    token_emitted, first -> same
    token_emitted, second -> same
    token_emitted, third and last -> same
    token_emitted, attempt 2 -> same
    phase_entered -> same
    phase_entered, done -> same
    attempt_failed -> same
    attempt_failed, refused -> same
    attempt_failed, attempt 2 -> same
    attempt_drained -> gone: end_actor
    cancel_request -> same
    deadline_reached -> same
    frames_overdue -> same
  )");
}

TEST_CASE("a cancelled request only waits for its attempts") {
  table(cancelled(), R"(
    open_request -> aborts
    claim_commit -> cancelled: commit_claimed
    claim_commit, attempt 2 -> cancelled: commit_claimed
    commit_abandoned -> same
    token_emitted, first -> same
    token_emitted, second -> same
    token_emitted, third and last -> same
    token_emitted, attempt 2 -> same
    phase_entered -> same
    phase_entered, done -> same
    attempt_failed -> same
    attempt_failed, refused -> same
    attempt_failed, attempt 2 -> same
    attempt_drained -> gone: end_actor
    cancel_request -> same
    deadline_reached -> same
    frames_overdue -> same
  )");
}

TEST_CASE("an interrupted request only waits for its attempts") {
  table(interrupted(), R"(
    open_request -> aborts
    claim_commit -> interrupted: commit_claimed
    claim_commit, attempt 2 -> interrupted: commit_claimed
    commit_abandoned -> same
    token_emitted, first -> same
    token_emitted, second -> same
    token_emitted, third and last -> same
    token_emitted, attempt 2 -> same
    phase_entered -> same
    phase_entered, done -> same
    attempt_failed -> same
    attempt_failed, refused -> same
    attempt_failed, attempt 2 -> same
    attempt_drained -> gone: end_actor
    cancel_request -> same
    deadline_reached -> same
    frames_overdue -> same
  )");
}

TEST_CASE("a request that is gone is told everything in vain") {
  table(gone(), R"(
    open_request -> same
    claim_commit -> same
    claim_commit, attempt 2 -> same
    commit_abandoned -> same
    token_emitted, first -> same
    token_emitted, second -> same
    token_emitted, third and last -> same
    token_emitted, attempt 2 -> same
    phase_entered -> same
    phase_entered, done -> same
    attempt_failed -> same
    attempt_failed, refused -> same
    attempt_failed, attempt 2 -> same
    attempt_drained -> same
    cancel_request -> same
    deadline_reached -> same
    frames_overdue -> same
  )");
}

TEST_CASE("a frame that is missing ends the stream instead of showing a gap") {
  const auto result = machine::step(streaming(), token(2));
  CHECK(types_of(result.effects) == "cancel_attempt request_ended");
  CHECK(ending_of(result).kind == outcome_kind::interrupted);
  CHECK(ending_of(result).why.text == "frame 2 came where frame 1 was due");
  CHECK(ending_of(result).tokens == 1);
}

TEST_CASE("a second attempt may claim once the first has given its claim back") {
  const auto claimed = machine::step(retried(), claim_commit{sample_attempt(2)});
  CHECK_FALSE(std::get<commit_claimed>(claimed.effects.at(0)).refusal);
  const auto stale = machine::step(retried(), claims);
  CHECK(std::get<commit_claimed>(stale.effects.at(0)).refusal.why == reason::stale_attempt);
  const auto twice = machine::step(owned(), claims);
  CHECK(std::get<commit_claimed>(twice.effects.at(0)).refusal.why == reason::duplicate);
}

TEST_CASE("a request is refused only while it has never got in") {
  const attempt_failed refused{sample_attempt(), full};
  CHECK(ending_of(machine::step(open(), refused)).kind == outcome_kind::refused);
  CHECK(ending_of(machine::step(open(), fails)).kind == outcome_kind::failed);
  const attempt_failed second{sample_attempt(2), full};
  CHECK(ending_of(machine::step(retried(), second)).kind == outcome_kind::failed);
  CHECK(ending_of(machine::step(streaming(), fails)).kind == outcome_kind::interrupted);
}

TEST_CASE("a request is gone when every attempt of it has drained") {
  const state ended = after(retried(), {cancels, drains});
  CHECK(machine::name_of(ended) == std::string("cancelled"));
  const auto last = machine::step(ended, attempt_drained{sample_attempt(2)});
  CHECK(types_of(last.effects) == "end_actor");
}

TEST_CASE("each attempt is told what is left of the deadline, and none starts after it") {
  open_request timed = opened(3);
  timed.spec.deadline_ms = 500;
  const auto first = request::step({}, timed, at_ms(1'000));
  CHECK(std::get<start_attempt>(first.effects.at(0)).deadline_ms == 500);
  const auto second = request::step(first.state, fails, at_ms(1'200));
  CHECK(std::get<start_attempt>(second.effects.at(0)).deadline_ms == 300);
  const attempt_failed again{sample_attempt(2), lost};
  const auto last = request::step(second.state, again, {at_ms(1'500).ns - 1});
  CHECK(std::get<start_attempt>(last.effects.at(0)).deadline_ms == 1);
  const auto over = request::step(second.state, again, at_ms(1'500));
  CHECK(types_of(over.effects) == "request_ended");
  CHECK(ending_of(over).why.why == reason::deadline_passed);
  CHECK(ending_of(over).why.text == "not finished within 500 ms");
}

TEST_CASE("a request without a deadline tells its attempts of none") {
  const auto begun = request::step({}, opened(1), at_ms(7));
  CHECK(std::get<start_attempt>(begun.effects.at(0)).deadline_ms == 0);
}
