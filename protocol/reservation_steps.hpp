// The parts of reservation::step, one function a boundary. Included by reservation*.cpp only.
#pragma once

#include "protocol/reservation.hpp"

namespace baton::protocol::reservation {

using effects_list = std::vector<effect>;

const attempt_id& attempt_of(const body& data);
const grant& grant_of(const body& data);

/// Boundary 1: granted; the lease starts on this node's clock.
step_result begin(const begin_reservation& e, instant now);

/// Boundary 2: the manifest decides whether any lane is opened. A lane that has landed is open.
step_result check_offer(reserved s, const manifest_offered& e, instant now);
step_result lane_is_open(reserved s, const lane_opened& e);
step_result lane_has_landed(reserved s, const lane_landed& e);
step_result lane_has_landed(receiving s, const lane_landed& e);
transfer_opened opened_transfer(const body& data);
transfer_refused refused_transfer(const body& data, const reservation_id& hold);

/// Boundary 3.
step_result try_commit(complete s, const commit& e, instant now);
failure commit_objection(const body& data, const commit& e, instant now);

/// True for the commit that `live` began with, or could have.
bool is_commit_of(const body& data, const commit& e);

/// Boundary 4. `revoke` ends a reservation that is not live; `retire` one that is.
step_result revoke(body data, const failure& why, bool tell_attempt);
step_result retire(body data, effects_list effects);

/// What lanes are asked for: to open and land; to stop, while the blocks are complete or live; to
/// stop, so that the blocks can be given back.
enum class lane_need : std::uint8_t { landing, stop, end };

/// Asks lanes that have not spoken. The timer is armed again while anything is missing.
void ask_lanes(const body& data, lane_need need, effects_list& effects);

/// Why blocks stay quarantined.
failure without_proof();

/// Marks a lane's end, and reclaims when that was the last missing evidence. An unknown lane's word
/// changes nothing.
void mark_stopped(body& data, const lane_id& lane);
void mark_lost(body& data, const lane_id& lane);
step_result reclaim_or_wait(body data, effects_list effects, bool retiring_now);

} // namespace baton::protocol::reservation
