#include "protocol/rank_group.hpp"

#include "tests/protocol/hand_off_samples.hpp"
#include "tests/protocol/machine_table.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

struct machine {
  using state = rank_group::state;
  using event = rank_group::event;
  static rank_group::step_result step(state before, const event& event) {
    return rank_group::step(std::move(before), event, {});
  }
  static const char* name_of(const state& s) { return rank_group::name_of(s); }
};

using state = rank_group::state;

const failure some_reason{reason::peer_lost, "the process is gone"};
const rank_id leader{0}, other{1};
const sequence_id first{1}, second{2};

state after(state s, const std::vector<rank_group::event>& events) {
  for (const auto& e : events)
    s = machine::step(std::move(s), e).state;
  return s;
}

submit_prefill prompt(const sequence_id& sequence) {
  return {sequence, sample_attempt(), sample_prompt(), {{0}, {1}, {2}}, false};
}

activate_sequence activation(const sequence_id& sequence, bool digest = false) {
  activate_sequence e{sequence, sample_attempt(), sample_prompt(), {{0}, {1}, {2}}, 2, false, {},
                      false, digest};
  return e;
}

step_completed ended(const rank_id& rank, std::uint64_t step, const sequence_id& sequence,
                     std::uint64_t epoch = 1) {
  step_completed e{rank, {epoch}, {step}, {}};
  if (rank == leader)
    e.results = {{sequence, {7}, true, false, {}}};
  return e;
}

state nascent() { return {}; }
state forming() {
  return after(nascent(), {form_group{{"D3"}, 2, 8, 2}, rank_joined{leader, {9, 1}}});
}
state ready() { return after(forming(), {rank_joined{other, {9, 2}}}); }
state prefilling() { return after(ready(), {prompt(first)}); }
state last_chunk() { return after(prefilling(), {ended(leader, 1, first)}); }
state decoding() { return after(ready(), {activation(first)}); }
state last_token() { return after(decoding(), {ended(other, 1, first), ended(leader, 1, first)}); }
state digesting() {
  return after(ready(), {activation(first, true), ended(leader, 1, first), ended(leader, 2, first),
                         ended(other, 1, first), ended(other, 2, first)});
}
state poisoned() { return after(decoding(), {rank_lost{other, some_reason, true}}); }

std::vector<labelled<rank_group::event>> every_event() {
  return {
    {"form_group", form_group{{"D3"}, 2, 8, 2}},
    {"rank_joined", rank_joined{other, {9, 2}}},
    {"submit_prefill", prompt(second)},
    {"activate_sequence", activation(second)},
    {"cancel_sequence", cancel_sequence{first}},
    {"cancel_sequence, unknown", cancel_sequence{{5}}},
    {"step_completed, leader, step 1", ended(leader, 1, first)},
    {"step_completed, leader, step 2", ended(leader, 2, first)},
    {"step_completed, other, step 1", ended(other, 1, first)},
    {"step_completed, another epoch", ended(leader, 1, first, 2)},
    {"step_failed", step_failed{other, {1}, {1}, some_reason}},
    {"kv_digested", kv_digested{other, first, 3}},
    {"rank_lost", rank_lost{other, some_reason}},
  };
}

void table(const state& s, const std::string& expected) {
  check_table<machine>(s, every_event(), expected);
}

} // namespace

TEST_CASE("a group begins by being formed") {
  table(nascent(), R"(
    form_group -> forming
    rank_joined -> aborts
    submit_prefill -> aborts
    activate_sequence -> aborts
    cancel_sequence -> aborts
    cancel_sequence, unknown -> aborts
    step_completed, leader, step 1 -> aborts
    step_completed, leader, step 2 -> aborts
    step_completed, other, step 1 -> aborts
    step_completed, another epoch -> aborts
    step_failed -> aborts
    kv_digested -> aborts
    rank_lost -> aborts
  )");
}

TEST_CASE("a group that is not whole turns sequences away") {
  table(forming(), R"(
    form_group -> aborts
    rank_joined -> ready
    submit_prefill -> forming: sequence_finished sequence_quiesced
    activate_sequence -> forming: sequence_finished sequence_quiesced
    cancel_sequence -> same
    cancel_sequence, unknown -> same
    step_completed, leader, step 1 -> aborts
    step_completed, leader, step 2 -> aborts
    step_completed, other, step 1 -> aborts
    step_completed, another epoch -> aborts
    step_failed -> aborts
    kv_digested -> aborts
    rank_lost -> poisoned: poison_rank
  )");
}

TEST_CASE("an idle group plans what enters") {
  table(ready(), R"(
    form_group -> aborts
    rank_joined -> same
    submit_prefill -> ready: begin_sequence run_step
    activate_sequence -> ready: begin_sequence run_step
    cancel_sequence -> same
    cancel_sequence, unknown -> same
    step_completed, leader, step 1 -> aborts
    step_completed, leader, step 2 -> aborts
    step_completed, other, step 1 -> aborts
    step_completed, another epoch -> same
    step_failed -> aborts
    kv_digested -> same
    rank_lost -> poisoned: poison_rank
  )");
}

TEST_CASE("a prompt is computed chunk by chunk") {
  table(prefilling(), R"(
    form_group -> aborts
    rank_joined -> same
    submit_prefill -> ready: begin_sequence
    activate_sequence -> ready: begin_sequence
    cancel_sequence -> same
    cancel_sequence, unknown -> same
    step_completed, leader, step 1 -> ready: run_step
    step_completed, leader, step 2 -> aborts
    step_completed, other, step 1 -> same
    step_completed, another epoch -> same
    step_failed -> poisoned: poison_rank sequence_finished
    kv_digested -> same
    rank_lost -> poisoned: poison_rank sequence_finished
  )");
}

TEST_CASE("a prompt is computed when every rank has completed its last step") {
  table(last_chunk(), R"(
    form_group -> aborts
    rank_joined -> same
    submit_prefill -> ready: begin_sequence
    activate_sequence -> ready: begin_sequence
    cancel_sequence -> same
    cancel_sequence, unknown -> same
    step_completed, leader, step 1 -> same
    step_completed, leader, step 2 -> same
    step_completed, other, step 1 -> same
    step_completed, another epoch -> same
    step_failed -> poisoned: poison_rank sequence_finished
    kv_digested -> same
    rank_lost -> poisoned: poison_rank sequence_finished
  )");
}

TEST_CASE("each step of the leader emits a token") {
  table(decoding(), R"(
    form_group -> aborts
    rank_joined -> same
    submit_prefill -> ready: begin_sequence
    activate_sequence -> ready: begin_sequence
    cancel_sequence -> same
    cancel_sequence, unknown -> same
    step_completed, leader, step 1 -> ready: token_emitted run_step
    step_completed, leader, step 2 -> aborts
    step_completed, other, step 1 -> same
    step_completed, another epoch -> same
    step_failed -> poisoned: poison_rank sequence_finished
    kv_digested -> same
    rank_lost -> poisoned: poison_rank sequence_finished
  )");
}

TEST_CASE("a finished sequence is quiesced by the slowest rank") {
  table(last_token(), R"(
    form_group -> aborts
    rank_joined -> same
    submit_prefill -> ready: begin_sequence
    activate_sequence -> ready: begin_sequence
    cancel_sequence -> same
    cancel_sequence, unknown -> same
    step_completed, leader, step 1 -> same
    step_completed, leader, step 2 -> ready: token_emitted sequence_finished
    step_completed, other, step 1 -> same
    step_completed, another epoch -> same
    step_failed -> poisoned: poison_rank sequence_finished
    kv_digested -> same
    rank_lost -> poisoned: poison_rank sequence_finished
  )");
}

TEST_CASE("the last token waits for every rank's digest") {
  table(digesting(), R"(
    form_group -> aborts
    rank_joined -> same
    submit_prefill -> ready: begin_sequence run_step
    activate_sequence -> ready: begin_sequence run_step
    cancel_sequence -> same
    cancel_sequence, unknown -> same
    step_completed, leader, step 1 -> same
    step_completed, leader, step 2 -> same
    step_completed, other, step 1 -> same
    step_completed, another epoch -> same
    step_failed -> poisoned: poison_rank sequence_finished
    kv_digested -> same
    rank_lost -> poisoned: poison_rank sequence_finished
  )");
}

TEST_CASE("a poisoned group turns sequences away and settles the rest on evidence") {
  table(poisoned(), R"(
    form_group -> aborts
    rank_joined -> same
    submit_prefill -> poisoned: sequence_finished sequence_quiesced
    activate_sequence -> poisoned: sequence_finished sequence_quiesced
    cancel_sequence -> same
    cancel_sequence, unknown -> same
    step_completed, leader, step 1 -> poisoned: end_sequence sequence_quiesced
    step_completed, leader, step 2 -> aborts
    step_completed, other, step 1 -> same
    step_completed, another epoch -> same
    step_failed -> same
    kv_digested -> same
    rank_lost -> same
  )");
}

TEST_CASE("a step that completes twice on the leader emits its token once") {
  const auto once = machine::step(decoding(), ended(leader, 1, first));
  CHECK(types_of(once.effects) == "token_emitted run_step");
  CHECK(machine::step(once.state, ended(leader, 1, first)).effects.empty());
}

TEST_CASE("digests are a set of ranks: one rank's word twice is not two") {
  const state once = after(digesting(), {kv_digested{leader, first, 5}});
  CHECK(machine::step(once, kv_digested{leader, first, 5}).effects.empty());
  const auto whole = machine::step(once, kv_digested{other, first, 3});
  CHECK(types_of(whole.effects)
        == "token_emitted sequence_finished end_sequence sequence_quiesced");
  CHECK(std::get<token_emitted>(whole.effects.at(0)).kv_digest == (5U ^ 3U));
}

TEST_CASE("a cancelled sequence whose digest is being made is quiesced after every rank's answer") {
  const auto cancel = machine::step(digesting(), cancel_sequence{first});
  CHECK(cancel.effects.empty());
  const state one = after(cancel.state, {kv_digested{leader, first, 5}});
  CHECK(types_of(machine::step(one, kv_digested{other, first, 3}).effects)
        == "end_sequence sequence_quiesced");
  const auto lost = machine::step(one, rank_lost{other, some_reason, true});
  CHECK(types_of(lost.effects) == "poison_rank end_sequence sequence_quiesced");
}

TEST_CASE("a sequence that has left and waits for one rank is quiesced when that rank is lost") {
  const auto cancel = machine::step(decoding(), cancel_sequence{first});
  const state waiting = after(cancel.state, {ended(leader, 1, first)});
  const auto lost = machine::step(waiting, rank_lost{other, some_reason, true});
  CHECK(types_of(lost.effects) == "poison_rank end_sequence sequence_quiesced");
  const auto failed = machine::step(waiting, step_failed{other, {1}, {1}, some_reason});
  CHECK(types_of(failed.effects) == "poison_rank end_sequence sequence_quiesced");
}

TEST_CASE("a rank that is only silent has ended nothing: its own word counts, or its death") {
  const auto cancel = machine::step(decoding(), cancel_sequence{first});
  const state waiting = after(cancel.state, {ended(leader, 1, first)});
  const auto silent = machine::step(waiting, rank_lost{other, some_reason});
  CHECK(types_of(silent.effects) == "poison_rank");
  CHECK(types_of(machine::step(silent.state, ended(other, 1, first)).effects)
        == "end_sequence sequence_quiesced");
  CHECK(types_of(machine::step(silent.state, rank_lost{other, some_reason, true}).effects)
        == "end_sequence sequence_quiesced");
}

TEST_CASE("a cancelled sequence is quiesced only when every rank has completed its last step") {
  const auto cancel = machine::step(decoding(), cancel_sequence{first});
  CHECK(cancel.effects.empty());
  const auto leads = machine::step(cancel.state, ended(leader, 1, first));
  CHECK(leads.effects.empty()); // no token, no further plan
  const auto last = machine::step(leads.state, ended(other, 1, first));
  CHECK(types_of(last.effects) == "end_sequence sequence_quiesced");
}

TEST_CASE("a failed step poisons the group, and quiescence still waits for the other rank") {
  const auto failed = machine::step(decoding(), step_failed{leader, {1}, {1}, some_reason});
  CHECK(types_of(failed.effects) == "poison_rank sequence_finished");
  const auto last = machine::step(failed.state, step_failed{other, {1}, {1}, some_reason});
  CHECK(types_of(last.effects) == "end_sequence sequence_quiesced");
}

TEST_CASE("a prompt whose last step never completes on a rank that died is failed, not computed") {
  const auto lost = machine::step(last_chunk(), rank_lost{other, some_reason, true});
  CHECK(types_of(lost.effects) == "poison_rank sequence_finished");
  const auto last = machine::step(lost.state, ended(leader, 2, first));
  CHECK(types_of(last.effects) == "sequence_quiesced");
}

TEST_CASE("a step of a rank that the group does not have is a broken invariant") {
  CHECK(cell<machine>(decoding(), ended({2}, 1, first)) == "aborts");
  CHECK(cell<machine>(poisoned(), ended({2}, 1, first)) == "aborts");
  CHECK(cell<machine>(decoding(), ended(other, 2, first)) == "aborts"); // never issued
}
