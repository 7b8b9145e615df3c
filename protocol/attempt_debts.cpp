#include "protocol/attempt_debts.hpp"

#include "protocol/transfer_manifest.hpp"

namespace baton::protocol::attempt {

namespace {

std::int64_t deadline_left(const body& data, instant now) {
  return left_of_ms(data.begun.deadline_ms, data.begun_at, now);
}

} // namespace

const attempt_id& id_of(const body& data) { return data.begun.attempt; }

reserve_request ask_for_grant(const body& data, instant now) {
  reserve_request ask;
  ask.attempt = id_of(data);
  ask.spec = data.begun.spec;
  ask.source = data.placed.source;
  ask.deadline_ms = deadline_left(data, now);
  return ask;
}

start_prefill ask_for_prefill(const body& data, instant now) {
  start_prefill start;
  start.attempt = id_of(data);
  start.spec = data.begun.spec;
  start.granted = data.granted;
  start.deadline_ms = deadline_left(data, now);
  return start;
}

commit ask_for_commit(const body& data) {
  return {id_of(data), data.granted.reservation, generation_sum(data.granted.blocks)};
}

bool knows_reservation(const body& data, const reservation_id& id) {
  const bool known = data.destination == debt::held || data.destination == debt::returned;
  return known && data.granted.reservation == id;
}

bool knows_hold(const body& data, const reservation_id& id) {
  const bool known = data.source == debt::held || data.source == debt::returned;
  return known && data.hold == id;
}

bool is_own_reservation(body& data, const reservation_id& id) {
  if (data.destination == debt::asked) {
    data.destination = debt::held;
    data.granted.reservation = id;
  }
  return knows_reservation(data, id);
}

bool is_own_hold(body& data, const reservation_id& id) {
  if (data.source == debt::asked) {
    data.source = debt::held;
    data.hold = id;
  }
  return knows_hold(data, id);
}

bool owes_nothing(const body& data) {
  const auto settled = [](debt d) { return d == debt::none || d == debt::returned; };
  return settled(data.destination) && settled(data.source);
}

void give_back(const body& data, const failure& why, effects_list& effects) {
  const attempt_id id = id_of(data);
  if (data.destination == debt::asked)
    effects.push_back(withdraw_attempt{id, hand_off_side::destination, why});
  if (data.source == debt::asked)
    effects.push_back(withdraw_attempt{id, hand_off_side::source, why});
  if (data.destination == debt::held)
    effects.push_back(revoke_reservation{id, data.granted.reservation, why});
  if (data.source == debt::held)
    effects.push_back(cancel_source{id, data.hold, why});
}

void ask_holders(const body& data, effects_list& effects) {
  const attempt_id id = id_of(data);
  if (data.destination == debt::held)
    effects.push_back(query_reservation{id, data.granted.reservation});
  if (data.source == debt::held)
    effects.push_back(query_source{id, data.hold});
  if (data.source == debt::asked)
    effects.push_back(withdraw_attempt{
      id, hand_off_side::source, {reason::cancelled, "the hand-off is received whole"}});
}

} // namespace baton::protocol::attempt
