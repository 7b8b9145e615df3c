#include "protocol/admission.hpp"
#include "protocol/block_pool.hpp"

#include "tests/protocol/hand_off_samples.hpp"
#include "tests/protocol/machine_table.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

struct machine {
  using state = pool::state;
  using event = pool::event;
  static pool::step_result step(state before, const event& event, instant now = {}) {
    return pool::step(std::move(before), event, now);
  }
  static const char* name_of(const state& s) { return pool::name_of(s); }
};

using state = pool::state;

constexpr std::uint32_t blocks = 7; ///< two grants of three blocks fit
const incarnation owner{3, 1};

state after(state s, const std::vector<pool::event>& events) {
  for (const auto& e : events)
    s = machine::step(std::move(s), e).state;
  return s;
}

reserve_request ask(std::uint32_t ordinal, std::int64_t queue_ms = 0) {
  reserve_request e = sample_reserve({}, ordinal);
  e.spec.queue_ms = queue_ms;
  return e;
}

start_prefill prefill(std::uint32_t ordinal, bool in_place = false, std::int64_t queue_ms = 0) {
  start_prefill e{sample_attempt(ordinal), sample_spec(), sample_prompt(), {}};
  e.granted.in_place = in_place;
  e.spec.queue_ms = queue_ms;
  return e;
}

withdraw_attempt withdraw(std::uint32_t ordinal,
                          hand_off_side side = hand_off_side::destination) {
  return {sample_attempt(ordinal), side, {reason::cancelled, "the client left"}};
}

reservation_id number(std::uint64_t n) { return {owner, n}; }

state nascent() { return {}; }
state ready() { return after(nascent(), {sample_pool("D3", blocks, 2)}); }
state leased() { return after(ready(), {ask(1)}); }
state live() { return after(leased(), {mark_live{number(1)}}); }
state quarantined() { return after(live(), {quarantine_blocks{number(1)}}); }
state reclaimed() { return after(quarantined(), {reclaim_blocks{number(1)}}); }
state waiting() { return after(leased(), {ask(2), ask(3, 100)}); } // one block is free

std::vector<labelled<pool::event>> every_event() {
  return {
    {"form_pool", sample_pool("D3", blocks, 2)},
    {"reserve_request", ask(9)},
    {"reserve_request, asked before", ask(1)},
    {"start_prefill", prefill(9)},
    {"withdraw_attempt", withdraw(3)},
    {"withdraw_attempt, granted", withdraw(1)},
    {"withdraw_attempt, of its source", withdraw(1, hand_off_side::source)},
    {"manifest_offered", manifest_offered{sample_offer(), number(1), {{7, 1}, 1}}},
    {"commit", commit{sample_attempt(1), number(1), 3}},
    {"revoke_reservation", revoke_reservation{sample_attempt(1), number(1), {}}},
    {"query_reservation", query_reservation{sample_attempt(1), number(1)}},
    {"query_reservation, of another life", query_reservation{sample_attempt(1), {{3, 2}, 1}}},
    {"query_reservation, never given", query_reservation{sample_attempt(1), number(99)}},
    {"cancel_source", cancel_source{sample_attempt(1), number(1), {}}},
    {"query_source", query_source{sample_attempt(1), number(1)}},
    {"mark_live", mark_live{number(1)}},
    {"quarantine_blocks", quarantine_blocks{number(1)}},
    {"reclaim_blocks", reclaim_blocks{number(1)}},
    {"wait_expired", wait_expired{}},
  };
}

void table(const state& s, const std::string& expected) {
  check_table<machine>(s, every_event(), expected);
}

const failure& refusal(const pool::step_result& result) {
  return std::get<reserve_refused>(result.effects.at(0)).why;
}

} // namespace

TEST_CASE("a pool begins with its blocks and nothing else") {
  table(nascent(), R"(
    form_pool -> ready
    reserve_request -> aborts
    reserve_request, asked before -> aborts
    start_prefill -> aborts
    withdraw_attempt -> aborts
    withdraw_attempt, granted -> aborts
    withdraw_attempt, of its source -> aborts
    manifest_offered -> aborts
    commit -> aborts
    revoke_reservation -> aborts
    query_reservation -> aborts
    query_reservation, of another life -> aborts
    query_reservation, never given -> aborts
    cancel_source -> aborts
    query_source -> aborts
    mark_live -> aborts
    quarantine_blocks -> aborts
    reclaim_blocks -> aborts
    wait_expired -> aborts
  )");
}

TEST_CASE("a free pool grants, and gives nothing back that it never gave") {
  table(ready(), R"(
    form_pool -> aborts
    reserve_request -> ready: open_reservation
    reserve_request, asked before -> ready: open_reservation
    start_prefill -> ready: open_hold
    withdraw_attempt -> ready: reserve_refused
    withdraw_attempt, granted -> ready: reserve_refused
    withdraw_attempt, of its source -> ready: prefill_refused
    manifest_offered -> same
    commit -> same
    revoke_reservation -> same
    query_reservation -> same
    query_reservation, of another life -> same
    query_reservation, never given -> same
    cancel_source -> same
    query_source -> same
    mark_live -> aborts
    quarantine_blocks -> same
    reclaim_blocks -> ready: blocks_reclaimed
    wait_expired -> same
  )");
}

TEST_CASE("leased blocks become live or quarantined, never free") {
  table(leased(), R"(
    form_pool -> aborts
    reserve_request -> ready: open_reservation
    reserve_request, asked before -> ready: query_reservation
    start_prefill -> ready: open_hold
    withdraw_attempt -> ready: reserve_refused
    withdraw_attempt, granted -> ready: revoke_reservation
    withdraw_attempt, of its source -> ready: prefill_refused
    manifest_offered -> ready: manifest_offered
    commit -> ready: commit
    revoke_reservation -> ready: revoke_reservation
    query_reservation -> ready: query_reservation
    query_reservation, of another life -> same
    query_reservation, never given -> same
    cancel_source -> same
    query_source -> same
    mark_live -> same
    quarantine_blocks -> same
    reclaim_blocks -> aborts
    wait_expired -> same
  )");
}

TEST_CASE("live blocks are quarantined before they are free") {
  table(live(), R"(
    form_pool -> aborts
    reserve_request -> ready: open_reservation
    reserve_request, asked before -> ready: query_reservation
    start_prefill -> ready: open_hold
    withdraw_attempt -> ready: reserve_refused
    withdraw_attempt, granted -> ready: revoke_reservation
    withdraw_attempt, of its source -> ready: prefill_refused
    manifest_offered -> ready: manifest_offered
    commit -> ready: commit
    revoke_reservation -> ready: revoke_reservation
    query_reservation -> ready: query_reservation
    query_reservation, of another life -> same
    query_reservation, never given -> same
    cancel_source -> same
    query_source -> same
    mark_live -> aborts
    quarantine_blocks -> same
    reclaim_blocks -> aborts
    wait_expired -> same
  )");
}

TEST_CASE("quarantined blocks are freed once") {
  table(quarantined(), R"(
    form_pool -> aborts
    reserve_request -> ready: open_reservation
    reserve_request, asked before -> ready: query_reservation
    start_prefill -> ready: open_hold
    withdraw_attempt -> ready: reserve_refused
    withdraw_attempt, granted -> ready: revoke_reservation
    withdraw_attempt, of its source -> ready: prefill_refused
    manifest_offered -> ready: manifest_offered
    commit -> ready: commit
    revoke_reservation -> ready: revoke_reservation
    query_reservation -> ready: query_reservation
    query_reservation, of another life -> same
    query_reservation, never given -> same
    cancel_source -> same
    query_source -> same
    mark_live -> aborts
    quarantine_blocks -> same
    reclaim_blocks -> ready: blocks_reclaimed
    wait_expired -> same
  )");
}

TEST_CASE("a second reclaim answers again and changes nothing") {
  table(reclaimed(), R"(
    form_pool -> aborts
    reserve_request -> ready: open_reservation
    reserve_request, asked before -> ready: open_reservation
    start_prefill -> ready: open_hold
    withdraw_attempt -> ready: reserve_refused
    withdraw_attempt, granted -> ready: reserve_refused
    withdraw_attempt, of its source -> ready: prefill_refused
    manifest_offered -> ready: transfer_refused
    commit -> ready: reservation_reclaimed
    revoke_reservation -> ready: reservation_reclaimed
    query_reservation -> ready: reservation_reclaimed
    query_reservation, of another life -> same
    query_reservation, never given -> same
    cancel_source -> ready: source_released
    query_source -> ready: source_released
    mark_live -> aborts
    quarantine_blocks -> same
    reclaim_blocks -> ready: blocks_reclaimed
    wait_expired -> same
  )");
}

TEST_CASE("a newcomer does not overtake those who wait") {
  table(waiting(), R"(
    form_pool -> aborts
    reserve_request -> ready: reserve_refused
    reserve_request, asked before -> ready: query_reservation
    start_prefill -> ready: prefill_refused
    withdraw_attempt -> ready: reserve_refused
    withdraw_attempt, granted -> ready: revoke_reservation
    withdraw_attempt, of its source -> ready: prefill_refused
    manifest_offered -> ready: manifest_offered
    commit -> ready: commit
    revoke_reservation -> ready: revoke_reservation
    query_reservation -> ready: query_reservation
    query_reservation, of another life -> same
    query_reservation, never given -> same
    cancel_source -> same
    query_source -> same
    mark_live -> same
    quarantine_blocks -> same
    reclaim_blocks -> aborts
    wait_expired -> same
  )");
}

TEST_CASE("a reused block has a higher generation") {
  const auto again = machine::step(reclaimed(), ask(2));
  for (const block_ref& ref : std::get<open_reservation>(again.effects.at(0)).granted.blocks)
    CHECK(ref.gen == generation{2});
}

TEST_CASE("an attempt that asks twice is charged once") {
  const auto twice = machine::step(leased(), ask(1));
  CHECK(types_of(twice.effects) == "query_reservation"); // its holder says it again
  CHECK(twice.state.ledger.leased == 3);
  const auto waits_twice = machine::step(waiting(), ask(3, 100));
  CHECK(waits_twice.effects.empty());
  CHECK(waits_twice.state.queue.size() == 1);
}

TEST_CASE("each refusal names its constraint, what was needed and what was free") {
  const auto third = machine::step(after(leased(), {ask(2)}), ask(3));
  CHECK(refusal(third).why == reason::no_capacity);
  CHECK(refusal(third).text
        == "D3: prompt and output budget needs 3072 bytes (3 blocks), free are 1024 bytes (1"
           " blocks) of 7168 bytes (7 blocks)");
  const state wide = after({}, {sample_pool("D3", 64, 2), ask(1), ask(2)});
  CHECK(refusal(machine::step(wide, ask(3))).why == reason::no_slot);
  const auto source = machine::step(after({}, {sample_pool("P7", 4, 2), prefill(1)}), prefill(2));
  CHECK(std::get<prefill_refused>(source.effects.at(0)).why.why == reason::no_source_blocks);
}

TEST_CASE("past its quarantine budget a pool refuses, and a budget of zero tolerates none") {
  form_pool small = sample_pool("D3", blocks, 2);
  small.quarantine_blocks_max = 0;
  const state s = after({}, {small, ask(1), quarantine_blocks{number(1)}});
  CHECK(refusal(machine::step(s, ask(2))).why == reason::quarantine_budget);
  const state free = after(s, {reclaim_blocks{number(1)}});
  CHECK(types_of(machine::step(free, ask(2)).effects) == "open_reservation");
}

TEST_CASE("who waits enters in order when room is given back, a large one is not overtaken") {
  const state full = after(ready(), {ask(1), ask(2), ask(3, 100), ask(4, 100)});
  CHECK(full.queue.size() == 2);
  const auto result
    = machine::step(after(full, {quarantine_blocks{number(1)}}), reclaim_blocks{number(1)});
  CHECK(types_of(result.effects) == "blocks_reclaimed open_reservation");
  CHECK(std::get<open_reservation>(result.effects.at(1)).asked.attempt == sample_attempt(3));
  CHECK(result.state.queue.size() == 1);
}

TEST_CASE("a full queue refuses, and a wait that ends is refused with a reason") {
  const state full = after(ready(), {ask(1), ask(2), ask(3, 100), ask(4, 200)});
  CHECK(refusal(machine::step(full, ask(5, 100))).why == reason::no_capacity);
  const auto early = machine::step(full, wait_expired{}, {at_ms(100).ns - 1});
  CHECK(early.effects.empty());
  const auto expired = machine::step(full, wait_expired{}, at_ms(100));
  CHECK(types_of(expired.effects) == "reserve_refused");
  CHECK(refusal(expired).why == reason::no_capacity);
  CHECK(expired.state.queue.size() == 1);
}

TEST_CASE("a prompt computed in place never waits: its credit is its reservation's") {
  const state full = after(ready(), {ask(1), ask(2), ask(3, 100), quarantine_blocks{number(2)}});
  const auto result = machine::step(full, prefill(1, true, 100));
  CHECK(types_of(result.effects) == "open_hold");
  CHECK(std::get<open_hold>(result.effects.at(0)).blocks.empty());
}

TEST_CASE("a withdrawal of one who waits lets the next one in") {
  state s = after(ready(), {ask(1)});
  reserve_request large = ask(3, 100);
  large.spec.output_tokens = 15; // six blocks
  s = after(s, {large, ask(4, 100)});
  CHECK(s.queue.size() == 2);
  const auto result = machine::step(s, withdraw(3));
  CHECK(types_of(result.effects) == "reserve_refused open_reservation");
}

TEST_CASE("an id of another life of the pool is a broken invariant") {
  const reservation_id stale{{3, 2}, 1};
  CHECK(cell<machine>(quarantined(), reclaim_blocks{stale}) == "aborts");
  CHECK(cell<machine>(leased(), quarantine_blocks{stale}) == "aborts");
  CHECK(cell<machine>(leased(), mark_live{stale}) == "aborts");
}
