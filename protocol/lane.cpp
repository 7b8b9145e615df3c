#include "protocol/lane.hpp"

#include "protocol/assert.hpp"

namespace baton::protocol::lane {

namespace {

std::size_t pieces(const body& data) {
  return data.opened.blocks.size() + (data.opened.resume_bytes > 0 ? 1 : 0);
}

/// I2: the device has judged the piece by the same table.
void check(const body& data, const piece_landed& e) {
  BATON_ASSERT(e.piece < pieces(data));
  if (e.piece < data.opened.blocks.size())
    BATON_ASSERT(e.block == data.opened.blocks[e.piece]);
}

/// True when the piece is new to the lane's coverage: a set, not a count.
bool cover(body& data, const piece_landed& e) {
  check(data, e);
  if (data.covered.mark(e.piece) != mark_result::added)
    return false;
  if (e.piece == data.opened.blocks.size())
    data.resume_digest = e.resume_digest;
  return true;
}

step_result begin(const open_lane& e) {
  body data;
  data.opened = e;
  BATON_ASSERT(pieces(data) > 0);
  data.covered = coverage(static_cast<std::uint32_t>(pieces(data)));
  return {planned{std::move(data)}, {admit_lane{e.lane}}};
}

step_result stop(body data) {
  const lane_id lane = data.opened.lane;
  return {abort_requested{std::move(data)}, {revoke_lane{lane}}};
}

step_result quiesced(const body& data) {
  return {retired{}, {lane_stopped{data.opened.lane}, end_actor{}}};
}

step_result land(posted s, const piece_landed& e) {
  if (!cover(s.data, e) || !s.data.covered.complete())
    return {std::move(s), {}};
  const lane_id lane = s.data.opened.lane;
  const std::uint64_t digest = s.data.resume_digest;
  return {landed{std::move(s.data)}, {send_receipt{lane}, lane_landed{lane, digest}}};
}

/// Counted before, or too late: it changes nothing.
template <class State>
step_result ignore(State s, const piece_landed& e) {
  check(s.data, e);
  return {std::move(s), {}};
}

template <class State>
step_result fail(State s, const failure& why) {
  const lane_id lane = s.data.opened.lane;
  s.data.failed = why;
  return {std::move(s), {lane_failed{lane, why}}};
}

step_result turn_away(posted s, const failure& why) {
  // Only wrong bytes are this end's to report: any other refusal is the source's mistake, and the
  // device has told the source.
  if (why.why == reason::corrupt || why.why == reason::peer_lost)
    return fail(std::move(s), why);
  return {std::move(s), {}};
}

/// The lane's word again, for a reservation that may have missed it.
template <class State>
step_result answer(State s) {
  const body& data = s.data;
  const lane_id lane = data.opened.lane;
  if constexpr (std::is_same_v<State, landed>)
    return {s, {lane_landed{lane, data.resume_digest}}};
  if (data.failed)
    return {s, {lane_failed{lane, data.failed}}};
  if constexpr (std::is_same_v<State, posted>)
    return {s, {lane_opened{lane}}};
  return {std::move(s), {}}; // not admitted yet: that will be said
}

/// Both ask: the reservation says open_lane until it has heard of the lane, ask_lane from then on.
template <class Message>
constexpr bool asks = std::is_same_v<Message, open_lane> || std::is_same_v<Message, ask_lane>;

template <class State>
constexpr bool answers = std::is_same_v<State, planned> || std::is_same_v<State, posted>
                         || std::is_same_v<State, landed>;

} // namespace

step_result step(state before, const event& event, instant) {
  const auto same = [&]() -> step_result { return {std::move(before), {}}; };
  const auto impossible = [&]() -> step_result {
    BATON_ASSERT(!"this event cannot happen in this state of a lane");
    return same();
  };
  return std::visit(
    overloaded{
      [&](nascent&, const open_lane& e) { return begin(e); },
      [&](planned& s, const lane_admitted& e) -> step_result {
        return {posted{std::move(s.data)}, {lane_opened{e.lane}}};
      },
      [&](planned& s, const stop_lane&) { return stop(std::move(s.data)); },
      // The table may refuse a whole grant: the lane can never carry anything.
      [&](planned& s, const offer_refused& e) { return fail(std::move(s), e.why); },
      [&](posted& s, const piece_landed& e) { return land(std::move(s), e); },
      [&](posted& s, const offer_refused& e) { return turn_away(std::move(s), e.why); },
      [&](posted& s, const stop_lane&) { return stop(std::move(s.data)); },
      [&](landed& s, const piece_landed& e) { return ignore(std::move(s), e); },
      [&](landed&, const offer_refused&) { return same(); },
      [&](landed& s, const stop_lane&) { return stop(std::move(s.data)); },
      [&](abort_requested&, const lane_admitted&) { return same(); },
      [&](abort_requested& s, const piece_landed& e) { return ignore(std::move(s), e); },
      [&](abort_requested&, const offer_refused&) { return same(); },
      [&](abort_requested&, const stop_lane&) { return same(); },
      [&](abort_requested& s, const receives_quiesced&) { return quiesced(s.data); },
      [&](retired&, const piece_landed&) { return impossible(); }, // landed after its own evidence
      [&](retired&, const offer_refused&) { return same(); },
      [&](retired&, const stop_lane&) { return same(); },
      [&](retired&, const receives_quiesced&) { return same(); },
      [&](auto& s, const auto& e) -> step_result {
        using here = std::decay_t<decltype(s)>;
        if constexpr (asks<std::decay_t<decltype(e)>> && answers<here>)
          return answer(std::move(s));
        else if constexpr (asks<std::decay_t<decltype(e)>> && !std::is_same_v<here, nascent>)
          return same(); // stopping: its next word is lane_stopped
        else
          return impossible();
      },
    },
    before, event);
}

const char* name_of(const state& s) {
  return std::visit(overloaded{
                      [](const nascent&) { return "nascent"; },
                      [](const planned&) { return "planned"; },
                      [](const posted&) { return "posted"; },
                      [](const landed&) { return "landed"; },
                      [](const abort_requested&) { return "abort_requested"; },
                      [](const retired&) { return "retired"; },
                    },
                    s);
}

} // namespace baton::protocol::lane
