// What may enter a pool beside its room: deadlines, bytes in flight, limits. Room itself is in
// pool_machine_test.cpp.
#include "protocol/admission.hpp"
#include "protocol/limits.hpp"

#include "tests/protocol/hand_off_samples.hpp"
#include "tests/protocol/machine_table.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

using state = pool::state;

constexpr std::uint64_t hand_off_bytes = 3 * 1024; ///< the sample's prompt blocks

/// A token of a prompt and a token of an answer take 1 ms each, a prompt block 1.024 ms.
form_pool timed_pool(const std::string& group = "D3", std::uint32_t blocks = 64) {
  form_pool pool = sample_pool(group, blocks, 2);
  pool.rates = {1'000, 1'000, 1'000'000, 4};
  return pool;
}

form_pool tight_pool(std::uint64_t inflight_bytes_max) {
  form_pool pool = timed_pool();
  pool.inflight_bytes_max = inflight_bytes_max;
  return pool;
}

state after(state s, const std::vector<pool::event>& events, instant now = {}) {
  for (const auto& e : events)
    s = pool::step(std::move(s), e, now).state;
  return s;
}

reserve_request ask(std::uint32_t ordinal, std::int64_t deadline_ms = 0,
                    std::int64_t queue_ms = 0) {
  reserve_request e = sample_reserve({}, ordinal);
  e.deadline_ms = deadline_ms;
  e.spec.queue_ms = queue_ms;
  return e;
}

reserve_request long_answer(std::uint32_t ordinal) {
  reserve_request e = ask(ordinal);
  e.spec.output_tokens = 40;
  return e;
}

start_prefill prefill(std::uint32_t ordinal, std::int64_t deadline_ms = 0) {
  start_prefill e{sample_attempt(ordinal), sample_spec(), sample_prompt(), {}, deadline_ms};
  e.granted.prompt_blocks = 3;
  return e;
}

reservation_id number(std::uint64_t n) { return {{3, 1}, n}; }

failure why(const pool::step_result& result) {
  REQUIRE(result.effects.size() == 1);
  if (const auto* refused = std::get_if<reserve_refused>(&result.effects[0]))
    return refused->why;
  if (const auto* refused = std::get_if<prefill_refused>(&result.effects[0]))
    return refused->why;
  return {};
}

failure why(const state& s, const pool::event& e, instant now = {}) {
  return why(pool::step(s, e, now));
}

} // namespace

TEST_CASE("a deadline that the cost model cannot meet is refused with what is needed and left") {
  const state empty = after({}, {timed_pool()});
  CHECK_FALSE(why(empty, ask(1, 12)));
  const failure refused = why(empty, ask(1, 11));
  CHECK(refused.why == reason::deadline_infeasible);
  CHECK(refused.text
        == "D3: first token needs 11.4 ms (queue 0.0, prefill 9.0, transfer 3.1, first step 1.0), "
           "the deadline leaves 11 ms");
  CHECK_FALSE(why(empty, ask(1))); // without a deadline nothing is estimated
}

TEST_CASE("a whole budget is sure to be needed only where end marks are ignored") {
  const state empty = after({}, {timed_pool()});
  reserve_request whole = ask(1, 12);
  whole.spec.ignore_eos = true; // three tokens
  CHECK(why(empty, whole).text
        == "D3: last token needs 13.4 ms (queue 0.0, prefill 9.0, transfer 3.1, first step 1.0, "
           "further steps 2.0), the deadline leaves 12 ms");
  whole.deadline_ms = 14;
  CHECK_FALSE(why(empty, whole));
}

TEST_CASE("in place nothing travels") {
  const state empty = after({}, {timed_pool()});
  reserve_request mixed = ask(1, 10);
  mixed.source.group = {"D3"};
  CHECK_FALSE(why(empty, mixed));
  mixed.deadline_ms = 9;
  CHECK(why(empty, mixed).text
        == "D3: first token needs 10.0 ms (queue 0.0, prefill 9.0, transfer 0.0, first step 1.0), "
           "the deadline leaves 9 ms");
}

TEST_CASE("prompts that are ahead at the same source count, as far as they are not computed") {
  const state one = after({}, {timed_pool(), ask(1)});
  CHECK(why(one, ask(2, 20)).text.find("needs 20.4 ms (queue 9.0, ") != std::string::npos);
  CHECK_FALSE(why(one, ask(2, 21)));
  CHECK_FALSE(why(one, ask(2, 16), at_ms(5)));
  CHECK(why(one, ask(2, 15), at_ms(5)).why == reason::deadline_infeasible);
  reserve_request elsewhere = ask(2, 13); // beside a neighbour that decodes by then
  elsewhere.source.group = {"P8"};
  CHECK_FALSE(why(one, elsewhere));
  CHECK_FALSE(why(after(one, {mark_live{number(1)}}), ask(2, 13)));
}

TEST_CASE("sequences that still decode when the prompt has been handed over slow its first step") {
  const state busy = after({}, {timed_pool(), long_answer(1), mark_live{number(1)}});
  CHECK(why(busy, ask(2, 12)).text.find("needs 12.4 ms (queue 0.0, ") != std::string::npos);
  CHECK_FALSE(why(busy, ask(2, 13)));
  CHECK_FALSE(why(busy, ask(2, 12), at_ms(30))); // it will have ended by then
}

TEST_CASE("who must wait for a slot is refused at once where the wait alone is too long") {
  const state full = after({}, {timed_pool(), long_answer(1), long_answer(2),
                                mark_live{number(1)}, mark_live{number(2)}});
  // Two neighbours: a step takes 2 ms, so both budgets of 40 tokens end after 80 ms.
  const failure late = why(full, ask(3, 90, 1'000));
  CHECK(late.why == reason::deadline_infeasible);
  CHECK(late.text.find("needs 91.4 ms (queue 80.0, ") != std::string::npos);
  CHECK(types_of(pool::step(full, ask(3, 92, 1'000), {}).effects) == "arm_timer");
  CHECK(why(full, ask(3, 90)).why == reason::no_slot); // it does not wait: the slot is the reason
}

TEST_CASE("a deadline that passes in the queue is refused there, and the next one enters") {
  state s = after({}, {timed_pool(), ask(1), ask(2)});
  s = after(s, {ask(3, 1'000, 5'000), ask(4, 0, 5'000)});
  CHECK(s.queue.size() == 2);
  s = after(s, {quarantine_blocks{number(1)}}, at_ms(995));
  const auto freed = pool::step(s, reclaim_blocks{number(1)}, at_ms(995));
  CHECK(types_of(freed.effects) == "blocks_reclaimed reserve_refused open_reservation");
  const failure late = std::get<reserve_refused>(freed.effects.at(1)).why;
  CHECK(late.why == reason::deadline_infeasible);
  CHECK(late.text.find("the deadline leaves 5 ms") != std::string::npos);
  CHECK(freed.state.queue.empty());
}

TEST_CASE("a prefill pool refuses what the prompts ahead in it make too late") {
  const state one = after({}, {timed_pool("P7"), prefill(1)});
  CHECK_FALSE(why(one, prefill(2, 21)));
  CHECK(why(one, prefill(2, 20)).text
        == "P7: first token needs 20.4 ms (queue 9.0, prefill 9.0, transfer 3.1, first step 1.0), "
           "the deadline leaves 20 ms");
}

TEST_CASE("hand-offs that are granted and not landed share the budget of bytes in flight") {
  const state one = after({}, {tight_pool(hand_off_bytes + 1'000), ask(1)});
  CHECK(one.ledger.inflight_bytes == hand_off_bytes);
  const failure refused = why(one, ask(2));
  CHECK(refused.why == reason::inflight_budget);
  CHECK(refused.text == "D3: needs 3072 bytes in flight, free are 1000 bytes of 4072");
  CHECK_FALSE(why(after({}, {tight_pool(2 * hand_off_bytes), ask(1)}), ask(2)));
}

TEST_CASE("who waits for bytes in flight enters when the one ahead has landed") {
  const state waiting = after({}, {tight_pool(hand_off_bytes), ask(1), ask(2, 0, 100)});
  CHECK(waiting.queue.size() == 1);
  const auto landed = pool::step(waiting, mark_live{number(1)}, {});
  CHECK(types_of(landed.effects) == "open_reservation");
  CHECK(landed.state.ledger.inflight_bytes == hand_off_bytes);
}

TEST_CASE("a hand-off larger than the whole budget goes when nothing else is in flight") {
  const state empty = after({}, {tight_pool(1'000)});
  CHECK_FALSE(why(empty, ask(1)));
  const state one = after(empty, {ask(1)});
  CHECK(why(one, ask(2)).text == "D3: needs 3072 bytes in flight, free are 0 bytes of 1000");
  CHECK_FALSE(why(after(one, {mark_live{number(1)}}), ask(2)));
}

TEST_CASE("bytes of a revoked hand-off are in flight until their evidence is in, counted once") {
  const state revoked
    = after({}, {tight_pool(hand_off_bytes), ask(1), quarantine_blocks{number(1)}});
  CHECK(why(revoked, ask(2)).why == reason::inflight_budget);
  const state freed = after(revoked, {reclaim_blocks{number(1)}, reclaim_blocks{number(1)}});
  CHECK(freed.ledger.inflight_bytes == 0);
  const state ended = after({}, {tight_pool(hand_off_bytes), ask(1), mark_live{number(1)},
                                 quarantine_blocks{number(1)}, reclaim_blocks{number(1)}});
  CHECK(ended.ledger.inflight_bytes == 0);
}

TEST_CASE("neither a hand-off in place nor a source hold has bytes in flight") {
  reserve_request mixed = ask(1);
  mixed.source.group = {"D3"};
  CHECK(after({}, {tight_pool(1), mixed}).ledger.inflight_bytes == 0);
  CHECK(after({}, {timed_pool("P7"), prefill(1)}).ledger.inflight_bytes == 0);
}

TEST_CASE("one reservation has at most as many blocks as its grant can name") {
  const state wide = after({}, {timed_pool("D3", 2 * limits::blocks_per_reservation_max)});
  reserve_request most = ask(1, 0, 1'000);
  most.spec.prompt_tokens = limits::blocks_per_reservation_max * sample_block_tokens - 3;
  CHECK_FALSE(why(wide, most));
  ++most.spec.prompt_tokens;
  const failure refused = why(wide, most); // although it would wait
  CHECK(refused.why == reason::no_capacity);
  CHECK(refused.text == "D3: needs 4097 blocks, one reservation may have at most 4096");
  start_prefill source = prefill(1);
  source.spec.prompt_tokens = most.spec.prompt_tokens + 3;
  const state holds = after({}, {timed_pool("P7", 2 * limits::blocks_per_reservation_max)});
  CHECK(why(holds, source).text == "P7: needs 4097 blocks, one reservation may have at most 4096");
}

TEST_CASE("a pool opens at most so many reservations, and those who may wait do") {
  state s = after({}, {timed_pool("P7", 3 * (limits::reservations_open_max + 1))});
  for (std::uint32_t i = 1; i <= limits::reservations_open_max; ++i)
    s = pool::step(std::move(s), prefill(i), {}).state;
  const failure refused = why(s, prefill(2'000));
  CHECK(refused.why == reason::queue_full);
  CHECK(refused.text == "P7: needs 1 reservation, 1024 are open of 1024");
  start_prefill waits = prefill(2'000);
  waits.spec.queue_ms = 100;
  CHECK(types_of(pool::step(s, waits, {}).effects) == "arm_timer");
}
