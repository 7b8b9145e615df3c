#include "protocol/lane.hpp"

#include "tests/protocol/hand_off_samples.hpp"
#include "tests/protocol/machine_table.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

struct machine {
  using state = lane::state;
  using event = lane::event;
  static lane::step_result step(state before, const event& event) {
    return lane::step(std::move(before), event, {});
  }
  static const char* name_of(const state& s) { return lane::name_of(s); }
};

using state = lane::state;

const lane_id id{{{3, 1}, 1}, {0}, {1}};

/// Two blocks and the resume state: three pieces.
open_lane opened() {
  open_lane e;
  e.lane = id;
  e.attempt = sample_attempt();
  e.blocks = {{{4}, {1}}, {{5}, {2}}};
  e.resume_bytes = 128;
  return e;
}

piece_landed piece(std::uint32_t number, std::uint64_t digest = 0) {
  const auto blocks = opened().blocks;
  return {id, number, number < blocks.size() ? blocks[number] : block_ref{}, 64, digest};
}

state after(state s, const std::vector<lane::event>& events) {
  for (const auto& e : events)
    s = machine::step(std::move(s), e).state;
  return s;
}

state nascent() { return {}; }
state planned() { return after(nascent(), {opened()}); }
state posted() { return after(planned(), {lane_admitted{id}}); }
state last_missing() { return after(posted(), {piece(0), piece(2, 9)}); }
state landed() { return after(last_missing(), {piece(1)}); }
state abort_requested() { return after(last_missing(), {stop_lane{id, opened().blocks.front()}}); }
state retired() { return after(abort_requested(), {receives_quiesced{id}}); }

std::vector<labelled<lane::event>> every_event() {
  piece_landed stale = piece(1);
  ++stale.block.gen.value;
  return {
    {"open_lane", opened()},
    {"ask_lane", ask_lane{id}},
    {"lane_admitted", lane_admitted{id}},
    {"piece_landed", piece(1)},
    {"piece_landed, landed before", piece(0)},
    {"piece_landed, another generation", stale},
    {"piece_landed, out of range", piece(3)},
    {"offer_refused, corrupt", offer_refused{id, 1, {reason::corrupt, "piece 1"}}},
    {"offer_refused, duplicate", offer_refused{id, 1, {reason::duplicate, "piece 1"}}},
    {"stop_lane", stop_lane{id, opened().blocks.front()}},
    {"receives_quiesced", receives_quiesced{id}},
  };
}

void table(const state& s, const std::string& expected) {
  check_table<machine>(s, every_event(), expected);
}

} // namespace

TEST_CASE("a lane begins with its grants and nothing else") {
  table(nascent(), R"(
    open_lane -> planned: admit_lane
    ask_lane -> aborts
    lane_admitted -> aborts
    piece_landed -> aborts
    piece_landed, landed before -> aborts
    piece_landed, another generation -> aborts
    piece_landed, out of range -> aborts
    offer_refused, corrupt -> aborts
    offer_refused, duplicate -> aborts
    stop_lane -> aborts
    receives_quiesced -> aborts
  )");
}

TEST_CASE("nothing lands before the lane's grants are in the device's table") {
  table(planned(), R"(
    open_lane -> same
    ask_lane -> same
    lane_admitted -> posted: lane_opened
    piece_landed -> aborts
    piece_landed, landed before -> aborts
    piece_landed, another generation -> aborts
    piece_landed, out of range -> aborts
    offer_refused, corrupt -> planned: lane_failed
    offer_refused, duplicate -> planned: lane_failed
    stop_lane -> abort_requested: revoke_lane
    receives_quiesced -> aborts
  )");
}

TEST_CASE("a posted lane takes pieces of its own table only") {
  table(posted(), R"(
    open_lane -> posted: lane_opened
    ask_lane -> posted: lane_opened
    lane_admitted -> aborts
    piece_landed -> same
    piece_landed, landed before -> same
    piece_landed, another generation -> aborts
    piece_landed, out of range -> aborts
    offer_refused, corrupt -> posted: lane_failed
    offer_refused, duplicate -> same
    stop_lane -> abort_requested: revoke_lane
    receives_quiesced -> aborts
  )");
}

TEST_CASE("the last missing piece lands the lane, a repeated one does not") {
  table(last_missing(), R"(
    open_lane -> posted: lane_opened
    ask_lane -> posted: lane_opened
    lane_admitted -> aborts
    piece_landed -> landed: send_receipt lane_landed
    piece_landed, landed before -> same
    piece_landed, another generation -> aborts
    piece_landed, out of range -> aborts
    offer_refused, corrupt -> posted: lane_failed
    offer_refused, duplicate -> same
    stop_lane -> abort_requested: revoke_lane
    receives_quiesced -> aborts
  )");
}

TEST_CASE("a landed lane adds nothing more") {
  table(landed(), R"(
    open_lane -> landed: lane_landed
    ask_lane -> landed: lane_landed
    lane_admitted -> aborts
    piece_landed -> same
    piece_landed, landed before -> same
    piece_landed, another generation -> aborts
    piece_landed, out of range -> aborts
    offer_refused, corrupt -> same
    offer_refused, duplicate -> same
    stop_lane -> abort_requested: revoke_lane
    receives_quiesced -> aborts
  )");
}

TEST_CASE("a piece that lands after the stop changes nothing") {
  table(abort_requested(), R"(
    open_lane -> same
    ask_lane -> same
    lane_admitted -> same
    piece_landed -> same
    piece_landed, landed before -> same
    piece_landed, another generation -> aborts
    piece_landed, out of range -> aborts
    offer_refused, corrupt -> same
    offer_refused, duplicate -> same
    stop_lane -> same
    receives_quiesced -> retired: lane_stopped end_actor
  )");
}

TEST_CASE("a piece that lands after the lane's own evidence is a broken invariant") {
  table(retired(), R"(
    open_lane -> same
    ask_lane -> same
    lane_admitted -> aborts
    piece_landed -> aborts
    piece_landed, landed before -> aborts
    piece_landed, another generation -> aborts
    piece_landed, out of range -> aborts
    offer_refused, corrupt -> same
    offer_refused, duplicate -> same
    stop_lane -> same
    receives_quiesced -> same
  )");
}

TEST_CASE("pieces are a set: no number of repetitions lands a lane") {
  state s = posted();
  for (int i = 0; i < 1024; ++i)
    s = after(s, {piece(i % 2 == 0 ? 0 : 2, 9)});
  CHECK(machine::name_of(s) == std::string("posted"));
  const auto result = machine::step(s, piece(1));
  CHECK(machine::name_of(result.state) == std::string("landed"));
  CHECK(types_of(result.effects) == "send_receipt lane_landed");
}

TEST_CASE("a repeated resume piece does not change the digest that its lane tells") {
  const state s = after(posted(), {piece(2, 9), piece(2, 10), piece(0)});
  const auto result = machine::step(s, piece(1));
  CHECK(std::get<lane_landed>(result.effects.at(1)).resume_digest == 9);
}

TEST_CASE("a lane without a resume state lands with its last block") {
  open_lane e = opened();
  e.resume_bytes = 0;
  const state s = after({}, {e, lane_admitted{id}, piece(1)});
  CHECK(types_of(machine::step(s, piece(0)).effects) == "send_receipt lane_landed");
}

TEST_CASE("a lane without any piece is a broken invariant") {
  open_lane e = opened();
  e.resume_bytes = 0;
  e.blocks.clear();
  CHECK(cell<machine>({}, e) == "aborts");
}
