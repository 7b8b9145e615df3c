// Words that nobody should believe: of another attempt, another generation, another model, said
// twice or too late. Each is said to a machine at the moment at which believing it would do harm.
#include "protocol/assert.hpp"
#include "protocol/lane.hpp"
#include "protocol/manifest.hpp"
#include "protocol/request.hpp"
#include "tests/mutants/driver.hpp"
#include "tests/mutants/moments.hpp"

namespace baton::mutants {

namespace {

using namespace protocol;
using namespace tests;

// ---- a reservation with everything landed ------------------------------------------------------

reservation::state complete() {
  auto s = with_lanes_open();
  for (const std::uint16_t rank : {0, 1})
    s = reservation::step(std::move(s),
                          lane_landed{{sample_granted().granted.reservation, {rank}, {rank}}, 5},
                          at_ms(2))
          .state;
  return s;
}

template <class Edit>
bool commits(const Edit& edit, std::int64_t now_ms = 3) {
  commit word = sample_commit(sample_granted().granted);
  edit(word);
  const auto result = reservation::step(complete(), word, at_ms(now_ms));
  return did<mark_live>(result) || did<activate_sequence>(result);
}

std::string commit_words() {
  const commit word = sample_commit(sample_granted().granted);
  const auto taken = reservation::step(complete(), word, at_ms(3));
  if (!did<activate_sequence>(taken))
    return "a commit that should be taken is not";
  if (!did<mark_live>(taken))
    return "decode begins and the pool is not told";
  if (did<activate_sequence>(reservation::step(with_lanes_open(), word, at_ms(3))))
    return "a commit is taken while pieces are still to land";
  if (commits([](commit& c) { c.attempt.ordinal = 2; }))
    return "a commit of another attempt is taken";
  if (commits([](commit& c) { ++c.reservation.number; }))
    return "a commit of another reservation is taken";
  if (commits([](commit& c) { ++c.generation_sum; }))
    return "a commit of another generation is taken";
  if (commits([](commit&) {}, sample_lease_ms))
    return "a commit at the instant of the lease's end is taken";
  return "";
}

std::string differing_states() {
  const auto id = sample_granted().granted.reservation;
  auto s = reservation::step(with_lanes_open(), lane_landed{{id, {0}, {0}}, 5}, at_ms(2)).state;
  const auto last = reservation::step(std::move(s), lane_landed{{id, {1}, {1}}, 6}, at_ms(2));
  return did<transfer_completed>(last) ? "two final hidden states that differ are both taken" : "";
}

std::string false_offers() {
  for (const auto& path : manifest_field_paths()) {
    manifest offer = sample_offer();
    falsify(offer, path);
    auto s = reservation::step({}, sample_begin(), at_ms(0)).state;
    if (did<open_lane>(reservation::step(std::move(s), offered(offer), at_ms(1))))
      return "an offer with another " + path + " opens lanes";
  }
  return "";
}

/// A sender that repeats its offer must not gain time by it.
std::string repeated_offer() {
  auto s = reservation::step({}, sample_begin(), at_ms(0)).state;
  for (const std::int64_t ms : {1, 900})
    s = reservation::step(std::move(s), offered(sample_offer()), at_ms(ms)).state;
  const auto end = reservation::step(std::move(s), lease_expired{}, at_ms(sample_lease_ms));
  return did<quarantine_blocks>(end) ? "" : "a repeated offer extends the lease";
}

/// Neither does who asks for its grant again.
std::string repeated_question() {
  auto s = reservation::step({}, sample_begin(), at_ms(0)).state;
  const query_reservation asked{sample_attempt(), sample_granted().granted.reservation};
  for (const std::int64_t ms : {1, 900})
    s = reservation::step(std::move(s), asked, at_ms(ms)).state;
  const auto end = reservation::step(std::move(s), lease_expired{}, at_ms(sample_lease_ms));
  return did<quarantine_blocks>(end) ? "" : "a repeated question extends the lease";
}

/// Another source hold of the same attempt may not send as well.
std::string second_source() {
  manifest_offered again = offered(sample_offer());
  if (!did<transfer_opened>(reservation::step(with_lanes_open(), again, at_ms(2))))
    return "a source that asks again is not told that it may send";
  ++again.hold.number;
  const auto second = reservation::step(with_lanes_open(), again, at_ms(2));
  return did<transfer_refused>(second) && !did<transfer_opened>(second)
           ? ""
           : "a second source hold is told that it may send";
}

std::string late_offer() {
  auto s = reservation::step({}, sample_begin(), at_ms(0)).state;
  const auto late
    = reservation::step(std::move(s), offered(sample_offer()), at_ms(sample_lease_ms));
  return did<open_lane>(late) ? "an offer after the lease opens lanes" : "";
}

// ---- a lane -------------------------------------------------------------------------------------

open_lane sample_lane() {
  const auto granted = sample_granted().granted;
  open_lane e;
  e.lane = {granted.reservation, {0}, {0}};
  e.attempt = granted.attempt;
  e.blocks.assign(granted.blocks.begin(), granted.blocks.begin() + granted.prompt_blocks);
  e.resume_bytes = 128;
  return e;
}

lane::state posted() {
  auto s = lane::step({}, sample_lane(), {}).state;
  return lane::step(std::move(s), lane_admitted{sample_lane().lane}, {}).state;
}

/// The pieces from `first` on, each so many generations later; true when the lane has landed.
bool lands(std::uint32_t first, std::uint64_t later, std::uint32_t repeats_of_first) {
  const open_lane e = sample_lane();
  const auto pieces = static_cast<std::uint32_t>(e.blocks.size()) + 1;
  auto s = posted();
  bool landed = false;
  const auto land = [&](std::uint32_t piece) {
    block_ref block = piece < e.blocks.size() ? e.blocks[piece] : block_ref{};
    if (piece < e.blocks.size())
      block.gen.value += later;
    auto result = lane::step(std::move(s), piece_landed{e.lane, piece, block, 64, 5}, {});
    landed = landed || did<lane_landed>(result);
    s = std::move(result.state);
  };
  for (std::uint32_t i = 0; i < repeats_of_first; ++i)
    land(first);
  for (std::uint32_t piece = first + 1; piece < pieces; ++piece)
    land(piece);
  return landed;
}

/// The source is told when everything has landed, and not before.
std::string receipt_words() {
  const open_lane e = sample_lane();
  auto s = posted();
  for (std::uint32_t piece = 0; piece <= e.blocks.size(); ++piece) {
    const bool last = piece == e.blocks.size();
    const block_ref block = last ? block_ref{} : e.blocks[piece];
    auto result = lane::step(std::move(s), piece_landed{e.lane, piece, block, 64, 5}, {});
    if (did<send_receipt>(result) != last)
      return last ? "a lane with every piece sends no receipt" : "a receipt before the last piece";
    s = std::move(result.state);
  }
  return "";
}

std::string landing_words() {
  if (!lands(0, 0, 1))
    return "a lane with every piece has not landed";
  if (lands(1, 0, 2))
    return "a repeated piece stands for a missing one";
  const replay_assertions broken_ones_throw;
  try {
    if (lands(0, 1, 1))
      return "pieces of another generation land";
  } catch (const assertion_broken&) { // as it should be: the device's table lets none through
  }
  return "";
}

// ---- a request ----------------------------------------------------------------------------------

request::state opened() {
  const open_request e{sample_attempt().request, sample_spec({2, 2, false, 3}), {1}};
  return request::step({}, e, {}).state;
}

/// The second attempt is the current one.
request::state retried() {
  const failure why{reason::lease_expired, "too slow"};
  return request::step(opened(), attempt_failed{sample_attempt(1), why}, {}).state;
}

bool granted(const request::step_result& result) {
  for (const auto& effect : result.effects)
    if (const auto* claimed = std::get_if<commit_claimed>(&effect))
      return !claimed->refusal;
  return false;
}

std::string claim_words() {
  if (granted(request::step(retried(), claim_commit{sample_attempt(1)}, {})))
    return "a fenced attempt is granted the request";
  auto first = request::step(retried(), claim_commit{sample_attempt(2)}, {});
  if (!granted(first))
    return "the current attempt is not granted the request";
  if (granted(request::step(first.state, claim_commit{sample_attempt(2)}, {})))
    return "a request is granted twice";
  return "";
}

bool forwards(const request::state& s, std::uint32_t ordinal, std::uint32_t index) {
  token_emitted e;
  e.attempt = sample_attempt(ordinal);
  e.index = index;
  return did<frame_forwarded>(request::step(s, e, {}));
}

std::string frame_words() {
  auto s = request::step(retried(), claim_commit{sample_attempt(2)}, {}).state;
  if (forwards(s, 1, 0))
    return "a frame of a fenced attempt reaches the client";
  if (forwards(s, 2, 1))
    return "a frame is forwarded although one before it is missing";
  token_emitted first;
  first.attempt = sample_attempt(2);
  s = request::step(std::move(s), first, {}).state;
  if (forwards(s, 2, 0))
    return "a repeated frame is forwarded";
  if (!forwards(s, 2, 1))
    return "the next frame is not forwarded";
  return "";
}

/// After its client has seen a token a request is not begun again, and says that it broke off.
std::string visible_output() {
  auto s = request::step(opened(), claim_commit{sample_attempt(1)}, {}).state;
  token_emitted first;
  first.attempt = sample_attempt(1);
  s = request::step(std::move(s), first, {}).state;
  const auto end = request::step(
    std::move(s), attempt_failed{sample_attempt(1), {reason::peer_lost, "the group is gone"}}, {});
  if (did<start_attempt>(end))
    return "a request begins again after visible output";
  for (const auto& effect : end.effects)
    if (const auto* ended = std::get_if<request_ended>(&effect))
      return ended->kind == outcome_kind::interrupted ? "" : "a broken stream is told as whole";
  return "a broken stream has no outcome";
}

std::string deadline() {
  const auto end = request::step(opened(), deadline_reached{}, {});
  return did<request_ended>(end) ? "" : "a request outlives its deadline";
}

std::string words(progress& at) {
  return play({commit_words, differing_states, false_offers, repeated_offer, repeated_question,
               second_source, late_offer, receipt_words, landing_words, claim_words, frame_words,
               visible_output, deadline},
              at);
}

} // namespace

std::vector<driver> word_drivers() {
  return {{"words", "words of another attempt, generation, model or time, said to one machine",
           words}};
}

} // namespace baton::mutants
