// What an attempt asks of both sides and owes to them, whatever its state. Included by attempt*.cpp
// only.
#pragma once

#include "protocol/attempt.hpp"

namespace baton::protocol::attempt {

using effects_list = std::vector<effect>;

const attempt_id& id_of(const body& data);

/// What it asks first, and again until it is answered.
reserve_request ask_for_grant(const body& data, instant now);
start_prefill ask_for_prefill(const body& data, instant now);
commit ask_for_commit(const body& data);

/// True when the word is of this attempt's own reservation; an attempt that has asked and knows no
/// answer yet learns it.
bool is_own_reservation(body& data, const reservation_id& id);
bool is_own_hold(body& data, const reservation_id& id);
/// As is_own_*, but changes nothing.
bool knows_reservation(const body& data, const reservation_id& id);
bool knows_hold(const body& data, const reservation_id& id);

bool owes_nothing(const body& data);

/// Gives back what it holds, and withdraws what it has asked for.
void give_back(const body& data, const failure& why, effects_list& effects);
/// Asks for the last words of both sides: for the living, and for one that is done. What is not
/// known to be held, and needed no longer, is withdrawn.
void ask_holders(const body& data, effects_list& effects);

/// done or abandoned: ends when the last debt is paid.
step_result drain(done s, effects_list effects);
step_result drain(abandoned s, effects_list effects);
/// A group that is gone returns nothing more: its side is settled, the other must still drain.
void settle_lost(body& data, const group_lost& e);
/// The tables of the endings.
step_result collect(done s, const event& event);
step_result collect(abandoned s, const event& event);

/// Why a grant that is not this attempt's is given back: it is of a repeated question.
failure granted_twice();

} // namespace baton::protocol::attempt
