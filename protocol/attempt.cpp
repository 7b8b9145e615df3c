#include "protocol/attempt.hpp"

#include "protocol/assert.hpp"
#include "protocol/transfer_manifest.hpp"

namespace baton::protocol::attempt {

namespace {

using effects_list = std::vector<effect>;

const attempt_id& id_of(const body& data) { return data.begun.attempt; }

phase_entered phase(const body& data, attempt_phase p) { return {id_of(data), p}; }

bool owes_nothing(const body& data) {
  const auto settled = [](debt d) { return d == debt::none || d == debt::returned; };
  return settled(data.destination) && settled(data.source);
}

/// done or abandoned: ends when the last debt is paid.
template <class Ending>
step_result drain(Ending s, effects_list effects) {
  if (!owes_nothing(s.data))
    return {std::move(s), std::move(effects)};
  effects.push_back(attempt_drained{id_of(s.data)});
  effects.push_back(end_actor{});
  return {drained{}, std::move(effects)};
}

/// Ends the attempt and asks both sides to give back what they hold. `tell`: the request does not
/// know yet.
step_result abandon(body data, const failure& why, bool tell) {
  effects_list effects;
  const attempt_id id = id_of(data);
  if (tell)
    effects.push_back(attempt_failed{id, why});
  effects.push_back(phase(data, attempt_phase::abandoned));
  if (data.destination == debt::asked || data.source == debt::asked)
    effects.push_back(withdraw_attempt{id});
  if (data.destination == debt::held)
    effects.push_back(revoke_reservation{id, why});
  if (data.source == debt::held)
    effects.push_back(cancel_source{id, why});
  return drain(abandoned{std::move(data), why}, std::move(effects));
}

step_result begin(const start_attempt& e, instant now) {
  body data;
  data.begun = e;
  data.begun_at = now;
  return {placing{std::move(data)},
          {phase_entered{e.attempt, attempt_phase::placing}, place_attempt{e.attempt, e.spec}}};
}

std::int64_t deadline_left(const body& data, instant now) {
  return left_of_ms(data.begun.deadline_ms, data.begun_at, now);
}

step_result reserve(placing s, const attempt_placed& e, instant now) {
  s.data.placed = e;
  s.data.destination = debt::asked;
  reserve_request ask;
  ask.attempt = e.attempt;
  ask.spec = s.data.begun.spec;
  ask.source = e.source;
  ask.deadline_ms = deadline_left(s.data, now);
  effects_list effects{phase(s.data, attempt_phase::reserving), std::move(ask)};
  return {reserving{std::move(s.data)}, std::move(effects)};
}

step_result prefill(reserving s, const reserve_granted& e, instant now) {
  s.data.destination = debt::held;
  s.data.granted = e.granted;
  s.data.source = debt::asked;
  start_prefill start;
  start.attempt = id_of(s.data);
  start.spec = s.data.begun.spec;
  start.granted = e.granted;
  start.deadline_ms = deadline_left(s.data, now);
  effects_list effects{phase(s.data, attempt_phase::prefilling), std::move(start)};
  return {prefilling{std::move(s.data)}, std::move(effects)};
}

step_result claim(body data) {
  effects_list effects{claim_commit{id_of(data)}};
  return {committing{std::move(data), false}, std::move(effects)};
}

/// The last landing has overtaken the slowest rank's word: the phase is passed all the same.
step_result claim_at_once(body data) {
  const phase_entered passed = phase(data, attempt_phase::handing_off);
  auto result = claim(std::move(data));
  result.effects.insert(result.effects.begin(), passed);
  return result;
}

step_result claimed(committing s, const commit_claimed& e) {
  BATON_ASSERT(!s.claimed); // one answer to one claim
  if (e.refusal)
    return abandon(std::move(s.data), e.refusal, true);
  s.claimed = true;
  const auto& granted = s.data.granted;
  effects_list effects{
    commit{id_of(s.data), granted.reservation, generation_sum(granted.blocks)}};
  return {std::move(s), std::move(effects)};
}

/// The claim must not outlive a destination that did not commit.
step_result unclaim(committing s, const failure& why, bool tell) {
  const attempt_id id = id_of(s.data);
  const bool was_claimed = s.claimed;
  auto result = abandon(std::move(s.data), why, tell);
  if (was_claimed)
    result.effects.insert(result.effects.begin(), commit_abandoned{id});
  return result;
}

step_result finish(decoding s, const decode_finished& e) {
  if (e.why)
    return abandon(std::move(s.data), e.why, true);
  effects_list effects{phase(s.data, attempt_phase::done)};
  return drain(done{std::move(s.data)}, std::move(effects));
}

/// A group that is gone returns nothing more: its side is settled, the other must still drain.
void settle_lost(body& data, const group_lost& e) {
  if (data.placed.decode_group == e.group)
    data.destination = debt::returned;
  if (data.placed.source.group == e.group)
    data.source = debt::returned;
}

/// Both sides are told: a group is lost with one of its ranks, and its leader may still listen.
step_result lose(body data, const group_lost& e) {
  auto result = abandon(data, e.why, true);
  if (auto* left = std::get_if<abandoned>(&result.state)) {
    settle_lost(left->data, e);
    return drain(std::move(*left), std::move(result.effects));
  }
  return result;
}

template <class State>
step_result settle_destination(State s) {
  s.data.destination = debt::returned;
  return drain(std::move(s), {});
}
template <class State>
step_result settle_source(State s) {
  s.data.source = debt::returned;
  return drain(std::move(s), {});
}

/// An answer that crossed the withdrawal. One from a lost group is answered, but owes nothing.
step_result late_grant(abandoned s) {
  if (s.data.destination == debt::asked)
    s.data.destination = debt::held;
  effects_list effects{revoke_reservation{id_of(s.data), s.why}};
  return {std::move(s), std::move(effects)};
}
step_result late_prefill(abandoned s) {
  if (s.data.source == debt::asked)
    s.data.source = debt::held;
  effects_list effects{cancel_source{id_of(s.data), s.why}};
  return {std::move(s), std::move(effects)};
}

/// What every living state does alike.
struct living {
  instant now;

  template <class State>
  step_result operator()(State& s, const cancel_attempt& e) const {
    if constexpr (std::is_same_v<State, committing>)
      return unclaim(std::move(s), e.why, false);
    else
      return abandon(std::move(s.data), e.why, false);
  }
  template <class State>
  step_result operator()(State& s, const reservation_revoked& e) const {
    if constexpr (std::is_same_v<State, committing>)
      return unclaim(std::move(s), e.why, true);
    else
      return abandon(std::move(s.data), e.why, true);
  }
  template <class State>
  step_result operator()(State& s, const source_failed& e) const {
    if constexpr (std::is_same_v<State, decoding> || std::is_same_v<State, committing>)
      return {std::move(s), {}}; // received whole: the source is no longer needed
    else
      return abandon(std::move(s.data), e.why, true);
  }
  template <class State>
  step_result operator()(State& s, const group_lost& e) const {
    if constexpr (std::is_same_v<State, decoding> || std::is_same_v<State, committing>) {
      if (s.data.placed.decode_group != e.group) { // at most the source is gone
        settle_lost(s.data, e);
        return {std::move(s), {}};
      }
    }
    if (s.data.placed.decode_group != e.group && s.data.placed.source.group != e.group)
      return {std::move(s), {}};
    const attempt_id id = id_of(s.data);
    auto result = lose(std::move(s.data), e);
    if constexpr (std::is_same_v<State, committing>)
      if (s.claimed) // the claim must not outlive the destination
        result.effects.insert(result.effects.begin(), commit_abandoned{id});
    return result;
  }
  /// Another process may be faster than the source's first word.
  template <class State>
  step_result operator()(State& s, const prefill_accepted&) const {
    if (s.data.source == debt::asked)
      s.data.source = debt::held;
    return {std::move(s), {}};
  }
  template <class State>
  step_result operator()(State& s, const source_released&) const {
    s.data.source = debt::returned;
    return {std::move(s), {}};
  }
  template <class State>
  step_result operator()(State& s, const prefill_finished&) const {
    return {std::move(s), {}}; // may be overtaken by transfer_completed
  }
  template <class State>
  step_result operator()(State& s, const reservation_reclaimed&) const {
    s.data.destination = debt::returned; // its revocation is on the way to us
    return {std::move(s), {}};
  }
  template <class State>
  step_result operator()(State& s, const reservation_quarantined&) const {
    s.data.destination = debt::returned;
    return {std::move(s), {}};
  }
};

/// Words of another node that may be repeated, in a state that has heard them.
template <class State, class Message>
constexpr bool said_twice
  = (std::is_same_v<Message, reserve_granted>
     && (std::is_same_v<State, prefilling> || std::is_same_v<State, handing_off>
         || std::is_same_v<State, committing> || std::is_same_v<State, decoding>))
    || (std::is_same_v<Message, transfer_completed>
        && (std::is_same_v<State, committing> || std::is_same_v<State, decoding>))
    || ((std::is_same_v<Message, committed> || std::is_same_v<Message, commit_refused>)
        && std::is_same_v<State, decoding>);

/// Nobody but the router speaks to an attempt that holds nothing.
template <class State, class Message>
constexpr bool may_hear
  = std::is_same_v<Message, cancel_attempt> || std::is_same_v<Message, group_lost>
    || !(std::is_same_v<State, placing> || std::is_same_v<State, reserving>);

template <class State>
constexpr bool is_living
  = std::is_same_v<State, placing> || std::is_same_v<State, reserving>
    || std::is_same_v<State, prefilling> || std::is_same_v<State, handing_off>
    || std::is_same_v<State, committing> || std::is_same_v<State, decoding>;

/// Both endings only collect debts.
template <class Ending>
step_result collect(Ending s, const event& event) {
  if (std::holds_alternative<source_released>(event))
    return settle_source(std::move(s));
  if (std::holds_alternative<reservation_reclaimed>(event)
      || std::holds_alternative<reservation_quarantined>(event))
    return settle_destination(std::move(s));
  if (const auto* lost = std::get_if<group_lost>(&event)) {
    settle_lost(s.data, *lost);
    return drain(std::move(s), {});
  }
  return {std::move(s), {}};
}

step_result collect_abandoned(abandoned s, const event& event) {
  if (std::holds_alternative<reserve_granted>(event))
    return late_grant(std::move(s));
  if (std::holds_alternative<prefill_accepted>(event))
    return late_prefill(std::move(s));
  if (std::holds_alternative<reserve_refused>(event) && s.data.destination == debt::asked)
    return settle_destination(std::move(s));
  if (std::holds_alternative<prefill_refused>(event) && s.data.source == debt::asked)
    return settle_source(std::move(s));
  return collect(std::move(s), event);
}

} // namespace

step_result step(state before, const event& event, instant now) {
  const auto same = [&]() -> step_result { return {std::move(before), {}}; };
  const auto impossible = [&]() -> step_result {
    BATON_ASSERT(!"this event cannot happen in this state of an attempt");
    return same();
  };
  if (!std::holds_alternative<nascent>(before) && std::holds_alternative<start_attempt>(event))
    return impossible();
  if (auto* ending = std::get_if<abandoned>(&before))
    return collect_abandoned(std::move(*ending), event);
  if (auto* ending = std::get_if<done>(&before))
    return collect(std::move(*ending), event);
  return std::visit(
    overloaded{
      [&](nascent&, const start_attempt& e) { return begin(e, now); },
      [&](placing& s, const attempt_placed& e) { return reserve(std::move(s), e, now); },
      [&](placing& s, const place_refused& e) { return abandon(std::move(s.data), e.why, true); },
      [&](reserving& s, const reserve_granted& e) { return prefill(std::move(s), e, now); },
      [&](reserving& s, const reserve_refused& e) {
        s.data.destination = debt::none;
        return abandon(std::move(s.data), e.why, true);
      },
      [&](prefilling& s, const prefill_refused& e) {
        s.data.source = debt::none;
        return abandon(std::move(s.data), e.why, true);
      },
      [&](prefilling& s, const prefill_finished&) -> step_result {
        effects_list effects{phase(s.data, attempt_phase::handing_off)};
        return {handing_off{std::move(s.data)}, std::move(effects)};
      },
      // The last receipt may overtake the slowest rank's word that it has finished.
      [&](prefilling& s, const transfer_completed&) { return claim_at_once(std::move(s.data)); },
      [&](handing_off& s, const transfer_completed&) { return claim(std::move(s.data)); },
      [&](committing& s, const commit_claimed& e) { return claimed(std::move(s), e); },
      [&](committing& s, const committed&) -> step_result {
        BATON_ASSERT(s.claimed); // I5
        effects_list effects{phase(s.data, attempt_phase::decoding)};
        return {decoding{std::move(s.data)}, std::move(effects)};
      },
      [&](committing& s, const commit_refused& e) {
        BATON_ASSERT(s.claimed);
        return unclaim(std::move(s), e.why, true);
      },
      [&](decoding& s, const decode_finished& e) { return finish(std::move(s), e); },
      [&](drained&, const auto&) { return same(); },
      [&](nascent&, const auto&) { return impossible(); },
      [&](auto& s, const auto& e) -> step_result {
        using here = std::decay_t<decltype(s)>;
        using message = std::decay_t<decltype(e)>;
        if constexpr (is_living<here> && may_hear<here, message>
                      && std::is_invocable_v<living, decltype(s), decltype(e)>)
          return living{now}(s, e);
        else
          return said_twice<here, message> ? same() : impossible();
      },
    },
    before, event);
}

const char* name_of(const state& s) {
  static const char* const names[] = {"nascent",     "placing",    "reserving", "prefilling",
                                      "handing_off", "committing", "decoding",  "done",
                                      "abandoned",   "drained"};
  return names[s.index()];
}

} // namespace baton::protocol::attempt
