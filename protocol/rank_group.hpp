// A tensor-parallel group as one unit, at its leader (rank 0): issues numbered step plans that
// every rank executes, learns from the ranks what has completed, and says when a sequence is
// quiesced.
//
//   forming ──all ranks joined──▶ ready ──step_failed | rank_lost──▶ poisoned
//
// One dead or late rank poisons the group at once. A cancel takes effect between plans, never on
// one rank. The next plan is issued when the leader's own device has completed the last one (its
// collectives prove that every rank took part); the other ranks' completions count as evidence.
#pragma once

#include "protocol/batch.hpp"
#include "protocol/clock.hpp"
#include "protocol/step.hpp"

#include <map>
#include <variant>
#include <vector>

namespace baton::protocol::rank_group {

/// A finished sequence whose KV is being digested before its last token is told.
struct digesting {
  token_emitted last;
  sequence_finished finished;
  std::uint32_t tokens = 0; ///< positions whose KV exists
  std::vector<bool> heard;  ///< by rank: a set, not a count; empty: not asked yet
};

struct body {
  form_group formed;
  group_epoch epoch{1};
  std::vector<incarnation> lives;          ///< by rank; zero: not joined
  std::vector<std::uint64_t> ended_steps;  ///< by rank: every step up to this has ended there
  std::uint64_t issued_step = 0;
  std::map<sequence_id, digesting> digests;
  batch work;
};

struct nascent {};
struct forming {
  body data;
};
struct ready {
  body data;
};
struct poisoned {
  body data;
  failure why;
};

using state = std::variant<nascent, forming, ready, poisoned>;
using event = std::variant<form_group, rank_joined, submit_prefill, activate_sequence,
                           cancel_sequence, step_completed, step_failed, kv_digested, rank_lost>;
using effect = std::variant<begin_sequence, end_sequence, run_step, digest_kv, poison_rank,
                            prefill_computed, token_emitted, sequence_finished, sequence_quiesced>;
using step_result = stepped<state, effect>;

[[nodiscard]] step_result step(state before, const event& event, instant now);

const char* name_of(const state& s);

} // namespace baton::protocol::rank_group
