#include "protocol/feed.hpp"

#include "protocol/limits.hpp"
#include "tests/protocol/hand_off_samples.hpp"
#include "tests/protocol/machine_table.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

struct machine {
  using state = feed::state;
  using event = feed::event;
  static feed::step_result step(state before, const event& event) {
    return feed::step(std::move(before), event, {});
  }
  static const char* name_of(const state& s) { return feed::name_of(s); }
};

using state = feed::state;

const lane_id id{{{3, 1}, 1}, {0}, {1}};
const failure some_reason{reason::stale_incarnation, "another life"};

/// Three blocks of four tokens for a prompt of nine.
open_feed opened() {
  open_feed e;
  e.lane = id;
  e.attempt = sample_attempt();
  e.sequence = {1};
  e.source_blocks = {{{0}, {1}}, {{1}, {1}}, {{2}, {1}}};
  e.destination_blocks = {{{4}, {1}}, {{5}, {2}}, {{6}, {3}}};
  e.prompt_tokens = sample_prompt_tokens;
  e.block_tokens = sample_block_tokens;
  return e;
}

/// Stalls before its second block.
open_feed stalling() {
  open_feed e = opened();
  e.fault.stall_after_permille = 500;
  e.fault.stall_ms = 20;
  return e;
}

source_ready computed(std::uint32_t tokens) {
  return {{1}, tokens, tokens == sample_prompt_tokens ? packed_floats{{1.0F}} : packed_floats{}};
}

state after(state s, const std::vector<feed::event>& events) {
  for (const auto& e : events)
    s = machine::step(std::move(s), e).state;
  return s;
}

state nascent() { return {}; }
state offering() { return after(nascent(), {opened(), computed(5)}); }
state stalled() { return after(nascent(), {stalling(), computed(sample_prompt_tokens)}); }
state offered() { return after(offering(), {computed(sample_prompt_tokens)}); }
state withdrawn() { return after(offering(), {withdraw_feed{id, opened().source_blocks.front()}}); }
state received() { return after(offered(), {receipt_arrived{id}}); }
state stopped() { return after(withdrawn(), {reader_stopped{id}}); }

std::vector<labelled<feed::event>> every_event() {
  return {
    {"open_feed", opened()},
    {"ask_feed", ask_feed{id, opened().source_blocks.front()}},
    {"source_ready, as before", computed(5)},
    {"source_ready, whole prompt", computed(sample_prompt_tokens)},
    {"receipt_arrived", receipt_arrived{id}},
    {"reader_stopped", reader_stopped{id}},
    {"offer_rejected", offer_rejected{id, 1, some_reason}},
    {"withdraw_feed", withdraw_feed{id, opened().source_blocks.front()}},
    {"query_due", query_due{}},
    {"stall_ended", stall_ended{}},
  };
}

void table(const state& s, const std::string& expected) {
  check_table<machine>(s, every_event(), expected);
}

} // namespace

TEST_CASE("a feed begins with its lane and nothing else") {
  table(nascent(), R"(
    open_feed -> offering: feed_opened
    ask_feed -> aborts
    source_ready, as before -> aborts
    source_ready, whole prompt -> aborts
    receipt_arrived -> aborts
    reader_stopped -> aborts
    offer_rejected -> aborts
    withdraw_feed -> aborts
    query_due -> aborts
    stall_ended -> aborts
  )");
}

TEST_CASE("an offering feed offers what is final, and has no receipt to expect") {
  table(offering(), R"(
    open_feed -> offering: feed_opened
    ask_feed -> offering: feed_opened
    source_ready, as before -> same
    source_ready, whole prompt -> offered: offer_piece offer_piece offer_resume arm_timer
    receipt_arrived -> received: feed_received end_actor
    reader_stopped -> stopped: feed_stopped end_actor
    offer_rejected -> offering: feed_rejected
    withdraw_feed -> withdrawn: withdraw_offers query_lane arm_timer
    query_due -> aborts
    stall_ended -> same
  )");
}

TEST_CASE("a script's stall holds the pieces behind it until it ends") {
  table(stalled(), R"(
    open_feed -> offering: feed_opened
    ask_feed -> offering: feed_opened
    source_ready, as before -> same
    source_ready, whole prompt -> same
    receipt_arrived -> received: feed_received end_actor
    reader_stopped -> stopped: feed_stopped end_actor
    offer_rejected -> offering: feed_rejected
    withdraw_feed -> withdrawn: withdraw_offers query_lane arm_timer
    query_due -> aborts
    stall_ended -> offered: offer_piece offer_piece offer_resume arm_timer
  )");
}

TEST_CASE("a feed that has offered everything asks until its reader has spoken") {
  table(offered(), R"(
    open_feed -> offered: feed_opened
    ask_feed -> offered: feed_opened
    source_ready, as before -> same
    source_ready, whole prompt -> same
    receipt_arrived -> received: feed_received end_actor
    reader_stopped -> stopped: feed_stopped end_actor
    offer_rejected -> offered: feed_rejected
    withdraw_feed -> withdrawn: withdraw_offers query_lane
    query_due -> offered: query_lane arm_timer
    stall_ended -> same
  )");
}

TEST_CASE("a withdrawn feed offers nothing and still waits for its reader's word") {
  table(withdrawn(), R"(
    open_feed -> same
    ask_feed -> same
    source_ready, as before -> same
    source_ready, whole prompt -> same
    receipt_arrived -> received: feed_received end_actor
    reader_stopped -> stopped: feed_stopped end_actor
    offer_rejected -> same
    withdraw_feed -> same
    query_due -> withdrawn: query_lane arm_timer
    stall_ended -> same
  )");
}

TEST_CASE("a receipt is the feed's last word") {
  table(received(), R"(
    open_feed -> same
    ask_feed -> same
    source_ready, as before -> same
    source_ready, whole prompt -> same
    receipt_arrived -> same
    reader_stopped -> same
    offer_rejected -> same
    withdraw_feed -> same
    query_due -> same
    stall_ended -> same
  )");
}

TEST_CASE("a stop is the feed's last word") {
  table(stopped(), R"(
    open_feed -> same
    ask_feed -> same
    source_ready, as before -> same
    source_ready, whole prompt -> same
    receipt_arrived -> same
    reader_stopped -> same
    offer_rejected -> same
    withdraw_feed -> same
    query_due -> same
    stall_ended -> same
  )");
}

TEST_CASE("a block is offered when its tokens are computed, the partial last with the prompt") {
  state s = after({}, {opened()});
  std::vector<std::size_t> offers;
  for (const std::uint32_t tokens : {3U, 4U, 7U, 8U, 8U, 4U, 9U}) {
    const auto result = machine::step(s, computed(tokens));
    offers.push_back(static_cast<std::size_t>(
      std::count_if(result.effects.begin(), result.effects.end(), [](const auto& e) {
        return std::holds_alternative<offer_piece>(e);
      })));
    s = result.state;
  }
  CHECK(offers == std::vector<std::size_t>{0, 1, 0, 1, 0, 0, 1});
  CHECK(machine::name_of(s) == std::string("offered"));
}

TEST_CASE("the resume state follows the last piece, and is offered once") {
  const auto last = machine::step(offering(), computed(sample_prompt_tokens));
  CHECK(types_of(last.effects) == "offer_piece offer_piece offer_resume arm_timer");
  CHECK(std::get<arm_timer>(last.effects.back()).delay_ms == limits::evidence_wait_ms_max);
  CHECK(machine::step(last.state, computed(sample_prompt_tokens)).effects.empty());
}

TEST_CASE("source and destination tables of different length are a broken invariant") {
  open_feed e = opened();
  e.source_blocks.pop_back();
  CHECK(cell<machine>({}, e) == "aborts");
}
