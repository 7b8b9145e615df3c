// The parts of reservation::step, one function a boundary. Included by reservation*.cpp only.
#pragma once

#include "protocol/reservation.hpp"

namespace baton::protocol::reservation {

using effects_list = std::vector<effect>;

const attempt_id& attempt_of(const body& data);
const grant& grant_of(const body& data);

/// Boundary 1: granted; the lease starts on this node's clock.
step_result begin(const begin_reservation& e, instant now);

/// Boundary 2: the manifest decides whether any lane is opened.
step_result check_offer(reserved s, const manifest_offered& e, instant now);
step_result lane_is_open(reserved s, const lane_opened& e);
step_result lane_has_landed(receiving s, const lane_landed& e);

/// Boundary 3.
step_result try_commit(complete s, const commit& e, instant now);
failure commit_objection(const body& data, const commit& e, instant now);

/// Boundary 4. `revoke` ends a reservation that is not live; `retire` one that is.
step_result revoke(body data, const failure& why, bool tell_attempt);
step_result retire(body data, effects_list effects);

/// Marks a lane's end, and reclaims when that was the last missing evidence.
void mark_stopped(body& data, const lane_id& lane);
void mark_lost(body& data, const lane_id& lane);
step_result reclaim_or_wait(body data, effects_list effects, bool retiring_now);

} // namespace baton::protocol::reservation
