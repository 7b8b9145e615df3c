#include "protocol/attempt_debts.hpp"

#include "protocol/assert.hpp"
#include "protocol/limits.hpp"

namespace baton::protocol::attempt {

namespace {

phase_entered phase(const body& data, attempt_phase p) { return {id_of(data), p}; }

/// Ends the attempt and asks both sides to give back what they hold. `tell`: the request does not
/// know yet.
step_result abandon(body data, const failure& why, bool tell) {
  effects_list effects;
  if (tell)
    effects.push_back(attempt_failed{id_of(data), why});
  effects.push_back(phase(data, attempt_phase::abandoned));
  give_back(data, why, effects);
  return drain(abandoned{std::move(data), why}, std::move(effects));
}

step_result begin(const start_attempt& e, instant now) {
  body data;
  data.begun = e;
  data.begun_at = now;
  return {placing{std::move(data)},
          {phase_entered{e.attempt, attempt_phase::placing}, place_attempt{e.attempt, e.spec}}};
}

step_result reserve(placing s, const attempt_placed& e, instant now) {
  s.data.placed = e;
  s.data.destination = debt::asked;
  effects_list effects{phase(s.data, attempt_phase::reserving), ask_for_grant(s.data, now),
                       arm_answer{limits::answer_wait_ms_max}};
  return {reserving{std::move(s.data)}, std::move(effects)};
}

step_result prefill(reserving s, const reserve_granted& e, instant now) {
  s.data.destination = debt::held;
  s.data.granted = e.granted;
  s.data.source = debt::asked;
  effects_list effects{phase(s.data, attempt_phase::prefilling), ask_for_prefill(s.data, now)};
  return {prefilling{std::move(s.data)}, std::move(effects)};
}

/// A refusal of the only question settles it. Of several, another one may have been granted.
step_result refused(reserving s, const reserve_refused& e) {
  if (!s.asked_again)
    s.data.destination = debt::none;
  return abandon(std::move(s.data), e.why, true);
}
step_result refused(prefilling s, const prefill_refused& e) {
  if (s.data.source != debt::asked)
    return {std::move(s), {}}; // of a repeated question: another one was accepted
  if (!s.asked_again)
    s.data.source = debt::none;
  return abandon(std::move(s.data), e.why, true);
}

step_result hand_off(prefilling s, const prefill_finished& e) {
  if (!is_own_hold(s.data, e.hold))
    return {std::move(s), {}};
  effects_list effects{phase(s.data, attempt_phase::handing_off)};
  return {handing_off{std::move(s.data)}, std::move(effects)};
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
  effects_list effects{ask_for_commit(s.data)};
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

/// The destination has ended, and how is not known: the frames will tell the request.
step_result finish_unheard(body data) {
  effects_list effects{phase(data, attempt_phase::done)};
  return drain(done{std::move(data)}, std::move(effects));
}

/// decode_finished has overtaken `committed`: it says that too.
step_result finish_at_once(committing s, const decode_finished& e) {
  const phase_entered passed = phase(s.data, attempt_phase::decoding);
  auto result = finish(decoding{std::move(s.data)}, e);
  result.effects.insert(result.effects.begin(), passed);
  return result;
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
constexpr bool is_whole = std::is_same_v<State, committing> || std::is_same_v<State, decoding>;

/// The reservation has ended and its own word why is lost, or overtaken.
template <class State>
step_result destination_over(State s, const failure& why) {
  s.data.destination = debt::returned;
  if constexpr (std::is_same_v<State, decoding>)
    return finish_unheard(std::move(s.data));
  else if constexpr (std::is_same_v<State, committing>)
    return unclaim(std::move(s), why, true);
  else
    return abandon(std::move(s.data), why, true);
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
    if (!is_own_reservation(s.data, e.reservation))
      return {std::move(s), {}};
    if constexpr (std::is_same_v<State, committing>)
      return unclaim(std::move(s), e.why, true);
    else
      return abandon(std::move(s.data), e.why, true);
  }
  template <class State>
  step_result operator()(State& s, const source_failed& e) const {
    if (!is_own_hold(s.data, e.hold) || is_whole<State>) // received whole: no longer needed
      return {std::move(s), {}};
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
  template <class State>
  step_result operator()(State& s, const reserve_granted& e) const {
    if (knows_reservation(s.data, e.granted.reservation))
      return {std::move(s), {}};
    effects_list effects{
      revoke_reservation{id_of(s.data), e.granted.reservation, granted_twice()}};
    return {std::move(s), std::move(effects)};
  }
  /// Another process may be faster than the source's first word.
  template <class State>
  step_result operator()(State& s, const prefill_accepted& e) const {
    if (is_own_hold(s.data, e.hold))
      return {std::move(s), {}};
    effects_list effects{cancel_source{id_of(s.data), e.hold, granted_twice()}};
    return {std::move(s), std::move(effects)};
  }
  template <class State>
  step_result operator()(State& s, const prefill_refused&) const {
    if (is_whole<State> && s.data.source == debt::asked)
      s.data.source = debt::none; // withdrawn: it is needed no longer
    return {std::move(s), {}};
  }
  template <class State>
  step_result operator()(State& s, const source_released& e) const {
    if (is_own_hold(s.data, e.hold))
      s.data.source = debt::returned;
    return {std::move(s), {}};
  }
  template <class State>
  step_result operator()(State& s, const prefill_finished& e) const {
    static_cast<void>(is_own_hold(s.data, e.hold)); // transfer_completed may overtake it
    return {std::move(s), {}};
  }
  template <class State>
  step_result operator()(State& s, const reservation_reclaimed& e) const {
    if (!knows_reservation(s.data, e.reservation))
      return {std::move(s), {}}; // in reserving: asking again gets another
    return destination_over(std::move(s),
                            {reason::not_found, "the reservation has ended, its reason was lost"});
  }
  template <class State>
  step_result operator()(State& s, const reservation_quarantined& e) const {
    if (!is_own_reservation(s.data, e.reservation))
      return {std::move(s), {}};
    return destination_over(std::move(s), e.why);
  }
  /// What is not answered within its bound is asked again.
  template <class State>
  step_result operator()(State& s, const answer_overdue&) const {
    effects_list effects;
    if constexpr (std::is_same_v<State, reserving>) {
      s.asked_again = true;
      effects.push_back(ask_for_grant(s.data, now));
    } else if constexpr (std::is_same_v<State, prefilling>) {
      if (s.data.source == debt::asked) {
        s.asked_again = true;
        effects = {query_reservation{id_of(s.data), s.data.granted.reservation},
                   ask_for_prefill(s.data, now)};
      } else {
        ask_holders(s.data, effects);
      }
    } else {
      ask_holders(s.data, effects);
    }
    if constexpr (std::is_same_v<State, committing>)
      if (s.claimed)
        effects.push_back(ask_for_commit(s.data));
    effects.push_back(arm_answer{limits::answer_wait_ms_max});
    return {std::move(s), std::move(effects)};
  }
};

/// May be lost, repeated and late, so that it may come in any state of an actor that has begun.
template <class Message>
constexpr bool crosses_nodes
  = std::is_same_v<Message, reserve_granted> || std::is_same_v<Message, reserve_refused>
    || std::is_same_v<Message, prefill_accepted> || std::is_same_v<Message, prefill_refused>
    || std::is_same_v<Message, prefill_finished> || std::is_same_v<Message, transfer_completed>
    || std::is_same_v<Message, committed> || std::is_same_v<Message, commit_refused>
    || std::is_same_v<Message, decode_finished> || std::is_same_v<Message, reservation_revoked>
    || std::is_same_v<Message, source_failed> || std::is_same_v<Message, reservation_reclaimed>
    || std::is_same_v<Message, reservation_quarantined>
    || std::is_same_v<Message, source_released>;

/// An attempt without a place has spoken to nobody but the router.
template <class State, class Message>
constexpr bool may_hear
  = std::is_same_v<Message, cancel_attempt> || std::is_same_v<Message, group_lost>
    || !std::is_same_v<State, placing>;

template <class State>
constexpr bool is_living
  = std::is_same_v<State, placing> || std::is_same_v<State, reserving>
    || std::is_same_v<State, prefilling> || std::is_same_v<State, handing_off>
    || std::is_same_v<State, committing> || std::is_same_v<State, decoding>;

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
    return collect(std::move(*ending), event);
  if (auto* ending = std::get_if<done>(&before))
    return collect(std::move(*ending), event);
  return std::visit(
    overloaded{
      [&](nascent&, const start_attempt& e) { return begin(e, now); },
      [&](placing& s, const attempt_placed& e) { return reserve(std::move(s), e, now); },
      [&](placing& s, const place_refused& e) { return abandon(std::move(s.data), e.why, true); },
      [&](reserving& s, const reserve_granted& e) { return prefill(std::move(s), e, now); },
      [&](reserving& s, const reserve_refused& e) { return refused(std::move(s), e); },
      [&](prefilling& s, const prefill_refused& e) { return refused(std::move(s), e); },
      [&](prefilling& s, const prefill_finished& e) { return hand_off(std::move(s), e); },
      // The last receipt may overtake the slowest rank's word that it has finished.
      [&](prefilling& s, const transfer_completed& e) {
        return knows_reservation(s.data, e.reservation) ? claim_at_once(std::move(s.data)) : same();
      },
      [&](handing_off& s, const transfer_completed& e) {
        return knows_reservation(s.data, e.reservation) ? claim(std::move(s.data)) : same();
      },
      [&](committing& s, const commit_claimed& e) { return claimed(std::move(s), e); },
      [&](committing& s, const committed&) -> step_result {
        if (!s.claimed) // I5: this attempt has asked for no commit
          return {std::move(s), {}};
        effects_list effects{phase(s.data, attempt_phase::decoding)};
        return {decoding{std::move(s.data)}, std::move(effects)};
      },
      [&](committing& s, const commit_refused& e) {
        return s.claimed ? unclaim(std::move(s), e.why, true) : same();
      },
      [&](committing& s, const decode_finished& e) {
        return s.claimed ? finish_at_once(std::move(s), e) : same();
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
          return crosses_nodes<message> && !std::is_same_v<here, nascent> ? same() : impossible();
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
