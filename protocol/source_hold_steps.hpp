// The parts of source_hold::step: what a hold is made of and what it says, whatever its state.
// Included by source_hold*.cpp only.
#pragma once

#include "protocol/source_hold.hpp"

namespace baton::protocol::source_hold {

using effects_list = std::vector<effect>;

const grant& granted(const body& data);
const attempt_id& attempt(const body& data);
const reservation_id& hold_of(const body& data);

step_result begin(const begin_hold& e, instant now);

/// What the source offers, the same each time. A script may have one field of it wrong.
manifest_offered offer_of(const body& data);
/// The blocks go to the ranks of another group, moved or announced: not within a mixed group.
bool has_feeds(const body& data);
/// The destination has let this hold in.
bool is_opened(const body& data);
void submit(body& data, effects_list& effects);

void open_feeds(body& data, const transfer_opened& e, effects_list& effects);
open_feed feed_of(const body& data, const lane_plan& plan);
/// A feed's fence: its first block, the same for each feed of a hold. Mapped: the destination's.
block_ref fence_of(const body& data);
/// The feed was opened by this hold and has not ended.
bool is_awaited(const body& data, const lane_id& lane);
/// Takes a feed's word in; one of an unknown feed changes nothing, nor does any after its last.
void mark(body& data, const lane_id& lane, feed_status status);
/// Asks every feed that has not ended for its end.
void withdraw_feeds(const body& data, effects_list& effects);

/// Every rank has computed the prompt.
step_result computed(body data);
/// After prefill_computed: received once every feed has its receipt.
step_result settle(body data, effects_list effects);

/// Tells the attempt, once.
effects_list report_failure(body& data, const failure& why);

/// Ends the hold: computing, offering and reading stop first.
step_result drain(body data, effects_list effects);
step_result drain_if_ready(body data, effects_list effects);
/// I14: only here are the blocks given back.
step_result release(body data, effects_list effects);

} // namespace baton::protocol::source_hold
