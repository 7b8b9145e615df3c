// The parts of rank_group::step. Included by rank_group*.cpp only.
#pragma once

#include "protocol/rank_group.hpp"

namespace baton::protocol::rank_group {

using effects_list = std::vector<effect>;

/// Every sequence that enters is announced to the ranks, so that plans stay small.
void enter(body& data, const submit_prefill& e, effects_list& effects);
void enter(body& data, const activate_sequence& e, effects_list& effects);

/// Takes a sequence out of the batch, between plans.
void leave(body& data, const sequence_id& sequence, effects_list& effects);

/// Issues the next plan if the leader is idle and there is work.
void plan_next(body& data, effects_list& effects);

/// A rank's word that a step has ended there; results come from rank 0 alone.
void step_ended(body& data, rank_id rank, step_number step);
void take_results(body& data, const step_completed& e, effects_list& effects);

/// Says what every rank's completions have proven: prompts computed, sequences quiesced.
void report_settled(body& data, effects_list& effects);

void take_digest(body& data, const kv_digested& e, effects_list& effects);

/// Fails every sequence; their quiescence is still said only on evidence.
void fail_all(body& data, const failure& why, effects_list& effects);

} // namespace baton::protocol::rank_group
