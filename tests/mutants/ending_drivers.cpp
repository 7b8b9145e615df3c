// How things end: who is told of it, whose word pays which debt, and what silence proves.
#include "protocol/attempt.hpp"
#include "protocol/lane_floor.hpp"
#include "protocol/mapped_lanes.hpp"
#include "protocol/request.hpp"
#include "tests/mutants/driver.hpp"
#include "tests/mutants/moments.hpp"

namespace baton::mutants {

namespace {

using namespace protocol;
using namespace tests;

const failure left{reason::cancelled, "the client left"};

// ---- an attempt ---------------------------------------------------------------------------------

attempt::state attempt_that_asks() {
  start_attempt begun;
  begun.attempt = sample_attempt();
  begun.spec = sample_spec();
  auto s = attempt::step({}, begun, {}).state;
  return attempt::step(std::move(s), attempt_placed{sample_attempt(), sample_source(), {"D3"}}, {})
    .state;
}

/// Both sides hold memory for it.
attempt::state attempt_that_owes() {
  auto s = attempt::step(attempt_that_asks(), reserve_granted{sample_granted().granted}, {}).state;
  return attempt::step(std::move(s), prefill_accepted{sample_attempt(), sample_hold().hold}, {})
    .state;
}

const cancel_attempt leaves{sample_attempt(), left};

std::string both_sides_are_told() {
  const auto both = attempt::step(attempt_that_owes(), leaves, {});
  if (!did<revoke_reservation>(both))
    return "a cancel is not told to the decode group";
  if (!did<cancel_source>(both))
    return "a cancel is not told to the prefill group";
  if (!did<withdraw_attempt>(attempt::step(attempt_that_asks(), leaves, {})))
    return "a cancel is not told to the pool that was asked";
  return "";
}

/// True when the words, said to a cancelled attempt, end it.
bool pays(std::initializer_list<attempt::event> words) {
  auto s = attempt::step(attempt_that_owes(), leaves, {}).state;
  bool drained = false;
  for (const auto& word : words) {
    auto result = attempt::step(std::move(s), word, {});
    drained = drained || did<attempt_drained>(result);
    s = std::move(result.state);
  }
  return drained;
}

std::string debts() {
  const attempt_id id = sample_attempt();
  const reservation_reclaimed destination{id, sample_granted().granted.reservation};
  const source_released source{id, sample_hold().hold};
  reservation_reclaimed another = destination;
  ++another.reservation.number;
  const group_lost lost{{"D3"}, {reason::peer_lost, "its node is gone"}};
  if (pays({destination}) || pays({source}))
    return "an attempt ends although one side still holds memory for it";
  if (pays({source, another}))
    return "the end of another reservation pays an attempt's debt";
  if (pays({lost}))
    return "one lost group pays the other's debt";
  if (!pays({destination, source}) || !pays({lost, source}))
    return "an attempt that owes nothing does not end";
  return "";
}

// ---- a request ----------------------------------------------------------------------------------

std::string cancelled_request() {
  const open_request e{sample_attempt().request, sample_spec(), {1}};
  auto s = request::step({}, e, {}).state;
  auto end = request::step(std::move(s), cancel_request{sample_spec().external, left}, {});
  if (!did<cancel_attempt>(end))
    return "a cancelled request does not stop its attempt";
  if (did<end_actor>(end))
    return "a request is gone while its attempt holds memory";
  if (!did<end_actor>(request::step(std::move(end.state), attempt_drained{sample_attempt()}, {})))
    return "a request whose attempts have drained does not end";
  return "";
}

// ---- lanes and their floor ----------------------------------------------------------------------

/// A rank that is gone has not said that it has stopped.
std::string silence() {
  const auto id = sample_granted().granted.reservation;
  auto s = reservation::step(with_lanes_open(), lane_lost{{id, {0}, {0}}, left}, at_ms(2)).state;
  const auto last = reservation::step(std::move(s), lane_stopped{{id, {1}, {1}}}, at_ms(3));
  return did<reclaim_blocks>(last) ? "a lost rank counts as one that has stopped" : "";
}

std::string floors() {
  const block_ref first{{4}, {1}}, second{{4}, {2}};
  lane_floor floor;
  if (!floor.may_begin({0}, first) || floor.may_begin({0}, first))
    return "a lane may not begin, or may begin twice";
  if (!floor.may_begin({1}, first))
    return "a lane from one rank keeps that of another from beginning";
  floor.note_received({0}, first);
  if (!floor.was_received({0}, first) || floor.was_received({1}, first))
    return "a receipt is not remembered, or is taken for another rank's";
  if (!floor.may_begin({0}, second) || floor.was_received({0}, second))
    return "the receipt of a block's last owner is taken for the present one's";
  floor.forbid({1}, second);
  return floor.may_begin({1}, second) ? "a lane begins that was said to have stopped" : "";
}

/// A lane that waits for its writer, and the words of others.
std::string writers() {
  open_lane opened;
  opened.lane = {sample_granted().granted.reservation, {0}, {0}};
  opened.source_node = {"P7.0"};
  opened.writer = {7, 1};
  written_lanes lanes;
  if (lanes.begin(opened) || lanes.reader_ended(opened.lane, at_ms(0)))
    return "a lane that is written in place has stopped without its writer";
  if (!lanes.take({opened.lane, {7, 2}}).empty())
    return "the word of another life stops a lane";
  open_lane next = opened;
  ++next.lane.reservation.number;
  next.writer = {7, 2};
  if (lanes.begin(next) || lanes.questions().size() != 1)
    return "a rank's new life is taken for the end of its former one";
  return lanes.take({opened.lane, opened.writer}).empty() ? "a writer's word is not taken" : "";
}

/// A rank that is asked of two attempts.
std::string asked_writers() {
  const auto asked = [](std::uint32_t ordinal) {
    const attempt_id attempt = sample_attempt(ordinal);
    return ask_writer{{sample_granted().granted.reservation, {0}, {0}}, attempt, {{7, 1}, ordinal}};
  };
  ask_writer first = asked(1), second = asked(2);
  ++second.lane.reservation.number;
  lane_writers ranks;
  ranks.ask(first, {"D3.0"});
  ranks.ask(second, {"D3.0"});
  ranks.hold_gone(first.hold);
  return ranks.take(writing_ended{first.attempt}).size() == 1
           ? ""
           : "the end of one attempt's writing is not said, or is said of another's";
}

std::string endings(progress& at) {
  return play({both_sides_are_told, debts, cancelled_request, silence, floors, writers,
               asked_writers},
              at);
}

} // namespace

std::vector<driver> ending_drivers() {
  return {{"endings", "who is told of an end, and what pays its debts", endings}};
}

} // namespace baton::mutants
