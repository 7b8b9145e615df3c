// How an attempt ends: it collects what both sides owe, and asks for it again.
#include "protocol/attempt_debts.hpp"

#include "protocol/limits.hpp"

namespace baton::protocol::attempt {

namespace {

template <class Ending>
step_result drain_or_end(Ending s, effects_list effects) {
  if (!owes_nothing(s.data))
    return {std::move(s), std::move(effects)};
  effects.push_back(attempt_drained{id_of(s.data)});
  effects.push_back(end_actor{});
  return {drained{}, std::move(effects)};
}

/// Both endings collect debts. What they owe is asked for again.
template <class Ending>
struct collecting {
  Ending& s;

  /// Settled or not: ends when the last debt is paid.
  step_result paid() const { return attempt::drain(std::move(s), {}); }
  step_result same() const { return {std::move(s), {}}; }
  static constexpr bool gives_up = std::is_same_v<Ending, abandoned>;
  failure why() const {
    if constexpr (gives_up)
      return s.why;
    else
      return granted_twice();
  }

  step_result operator()(const source_released& e) const {
    if (is_own_hold(s.data, e.hold))
      s.data.source = debt::returned;
    return paid();
  }
  step_result operator()(const reservation_reclaimed& e) const {
    if (is_own_reservation(s.data, e.reservation))
      s.data.destination = debt::returned;
    return paid();
  }
  step_result operator()(const reservation_quarantined& e) const {
    if (is_own_reservation(s.data, e.reservation))
      s.data.destination = debt::returned;
    return paid();
  }
  step_result operator()(const group_lost& e) const {
    settle_lost(s.data, e);
    return paid();
  }
  /// The pool holds nothing for this attempt.
  step_result operator()(const reserve_refused&) const {
    if (s.data.destination == debt::asked)
      s.data.destination = debt::none;
    return paid();
  }
  step_result operator()(const prefill_refused&) const {
    if (s.data.source == debt::asked)
      s.data.source = debt::none;
    return paid();
  }
  /// A grant that crossed the withdrawal. One from a lost group is answered, but owes nothing.
  step_result operator()(const reserve_granted& e) const {
    if (knows_reservation(s.data, e.granted.reservation))
      return same();
    if (gives_up && s.data.destination != debt::held && s.data.destination != debt::returned) {
      s.data.destination = debt::held;
      s.data.granted = e.granted;
    }
    effects_list effects{revoke_reservation{id_of(s.data), e.granted.reservation, why()}};
    return {std::move(s), std::move(effects)};
  }
  step_result operator()(const prefill_accepted& e) const { return hear_hold(e.hold); }
  step_result operator()(const prefill_finished& e) const { return hear_hold(e.hold); }
  step_result operator()(const source_failed& e) const { return hear_hold(e.hold); }
  step_result hear_hold(const reservation_id& hold) const {
    if (knows_hold(s.data, hold))
      return same();
    if (s.data.source == debt::none || s.data.source == debt::asked) {
      s.data.source = debt::held;
      s.data.hold = hold;
    }
    effects_list effects{cancel_source{id_of(s.data), hold, why()}};
    return {std::move(s), std::move(effects)};
  }
  step_result operator()(const answer_overdue&) const {
    effects_list effects;
    if constexpr (gives_up)
      give_back(s.data, s.why, effects);
    else
      ask_holders(s.data, effects);
    effects.push_back(arm_answer{limits::answer_wait_ms_max});
    return {std::move(s), std::move(effects)};
  }
  template <class Message>
  step_result operator()(const Message&) const {
    return same();
  }
};

} // namespace

failure granted_twice() {
  return {reason::duplicate, "the attempt has asked twice and holds the other"};
}

step_result drain(done s, effects_list effects) {
  return drain_or_end(std::move(s), std::move(effects));
}
step_result drain(abandoned s, effects_list effects) {
  return drain_or_end(std::move(s), std::move(effects));
}

void settle_lost(body& data, const group_lost& e) {
  if (data.placed.decode_group == e.group)
    data.destination = debt::returned;
  if (data.placed.source.group == e.group)
    data.source = debt::returned;
}

step_result collect(done s, const event& event) {
  return std::visit(collecting<done>{s}, event);
}
step_result collect(abandoned s, const event& event) {
  return std::visit(collecting<abandoned>{s}, event);
}

} // namespace baton::protocol::attempt
