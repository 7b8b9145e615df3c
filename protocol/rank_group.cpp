#include "protocol/rank_group.hpp"

#include "protocol/assert.hpp"
#include "protocol/rank_group_steps.hpp"

#include <algorithm>
#include <limits>

namespace baton::protocol::rank_group {

namespace {

step_result form(const form_group& e) {
  BATON_ASSERT(e.ranks > 0 && e.prefill_chunk_tokens > 0);
  body data;
  data.formed = e;
  data.lives.resize(e.ranks);
  data.ended_steps.assign(e.ranks, 0);
  return {forming{std::move(data)}, {}};
}

step_result join(forming s, const rank_joined& e) {
  BATON_ASSERT(e.rank.value < s.data.lives.size());
  s.data.lives[e.rank.value] = e.life;
  const auto& lives = s.data.lives;
  if (std::find(lives.begin(), lives.end(), incarnation{}) != lives.end())
    return {std::move(s), {}};
  effects_list effects;
  plan_next(s.data, effects);
  return {ready{std::move(s.data)}, std::move(effects)};
}

template <class Asked>
step_result enter_ready(ready s, const Asked& e) {
  effects_list effects;
  enter(s.data, e, effects);
  plan_next(s.data, effects);
  return {std::move(s), std::move(effects)};
}

/// A group that is not ready computes nothing: the sequence fails, and is quiesced, at once.
template <class State, class Asked>
step_result turn_away(State s, const Asked& e, const failure& why) {
  effects_list effects{sequence_finished{e.sequence, finish_reason::none, why, 0},
                       sequence_quiesced{e.sequence}};
  return {std::move(s), std::move(effects)};
}

failure forming_still(const body& data) {
  return {reason::peer_lost, data.formed.group.value + ": not every rank has joined"};
}

step_result complete(ready s, const step_completed& e) {
  BATON_ASSERT(e.rank.value < s.data.ended_steps.size());
  if (e.epoch != s.data.epoch || e.step.value <= s.data.ended_steps[e.rank.value])
    return {std::move(s), {}}; // I10: a word from another epoch, or said twice
  effects_list effects;
  step_ended(s.data, e.rank, e.step);
  take_results(s.data, e, effects);
  plan_next(s.data, effects); // first, so that the ranks do not wait for our bookkeeping
  report_settled(s.data, effects);
  return {std::move(s), std::move(effects)};
}

step_result poison(body data, const failure& why) {
  effects_list effects{poison_rank{data.epoch, why}};
  fail_all(data, why, effects);
  report_settled(data, effects); // who had left before may have waited for the lost rank alone
  return {poisoned{std::move(data), why}, std::move(effects)};
}

step_result fail(ready s, const step_failed& e) {
  if (e.epoch != s.data.epoch)
    return {std::move(s), {}};
  step_ended(s.data, e.rank, e.step);
  const failure why{reason::group_poisoned, s.data.formed.group.value + " rank "
                                              + std::to_string(e.rank.value) + ": " + e.why.text};
  return poison(std::move(s.data), why);
}

/// A process that has ended has taken its kernels with it: every step has ended there. One that is
/// only silent has ended nothing.
body without_rank(body data, const rank_lost& e) {
  BATON_ASSERT(e.rank.value < data.ended_steps.size());
  if (!e.dead)
    return data;
  data.ended_steps[e.rank.value] = std::numeric_limits<std::uint64_t>::max();
  return data;
}

template <class Ended>
step_result settle(poisoned s, const Ended& e) {
  const auto [rank, epoch, step] = std::tie(e.rank, e.epoch, e.step);
  BATON_ASSERT(rank.value < s.data.ended_steps.size());
  effects_list effects;
  if (epoch == s.data.epoch && s.data.ended_steps[rank.value] < step.value)
    step_ended(s.data, rank, step);
  report_settled(s.data, effects);
  return {std::move(s), std::move(effects)};
}

} // namespace

step_result step(state before, const event& event, instant) {
  const auto same = [&]() -> step_result { return {std::move(before), {}}; };
  const auto impossible = [&]() -> step_result {
    BATON_ASSERT(!"this event cannot happen in this state of a rank group");
    return same();
  };
  return std::visit(
    overloaded{
      [&](nascent&, const form_group& e) { return form(e); },
      [&](forming& s, const rank_joined& e) { return join(std::move(s), e); },
      [&](forming& s, const rank_lost& e) { return poison(std::move(s.data), e.why); },
      // The router may have heard of the last rank before its leader has.
      [&](forming& s, const submit_prefill& e) { return turn_away(s, e, forming_still(s.data)); },
      [&](forming& s, const activate_sequence& e) {
        return turn_away(s, e, forming_still(s.data));
      },
      [&](forming&, const cancel_sequence&) { return same(); },
      [&](ready& s, const submit_prefill& e) { return enter_ready(std::move(s), e); },
      [&](ready& s, const activate_sequence& e) { return enter_ready(std::move(s), e); },
      [&](ready& s, const cancel_sequence& e) -> step_result {
        effects_list effects;
        leave(s.data, e.sequence, effects);
        return {std::move(s), std::move(effects)};
      },
      [&](ready& s, const step_completed& e) { return complete(std::move(s), e); },
      [&](ready& s, const step_failed& e) { return fail(std::move(s), e); },
      [&](ready& s, const kv_digested& e) -> step_result {
        effects_list effects;
        take_digest(s.data, e, effects);
        return {std::move(s), std::move(effects)};
      },
      [&](ready& s, const rank_lost& e) {
        return poison(without_rank(std::move(s.data), e), e.why);
      },
      [&](ready&, const rank_joined&) { return same(); },
      [&](poisoned& s, const submit_prefill& e) { return turn_away(s, e, s.why); },
      [&](poisoned& s, const activate_sequence& e) { return turn_away(s, e, s.why); },
      [&](poisoned& s, const step_completed& e) { return settle(std::move(s), e); },
      [&](poisoned& s, const step_failed& e) { return settle(std::move(s), e); },
      [&](poisoned& s, const rank_lost& e) -> step_result {
        effects_list effects;
        s.data = without_rank(std::move(s.data), e);
        report_settled(s.data, effects);
        return {std::move(s), std::move(effects)};
      },
      [&](poisoned&, const cancel_sequence&) { return same(); }, // all have left already
      [&](poisoned& s, const kv_digested& e) -> step_result {
        effects_list effects;
        take_digest(s.data, e, effects);
        return {std::move(s), std::move(effects)};
      },
      [&](poisoned&, const rank_joined&) { return same(); },
      [&](nascent&, const auto&) { return impossible(); },
      [&](forming&, const auto&) { return impossible(); },
      [&](ready&, const form_group&) { return impossible(); },
      [&](poisoned&, const form_group&) { return impossible(); },
    },
    before, event);
}

const char* name_of(const state& s) {
  static const char* const names[] = {"nascent", "forming", "ready", "poisoned"};
  return names[s.index()];
}

} // namespace baton::protocol::rank_group
