// Continuous batching: which sequences take part in the next step plan. Part of rank_group's state.
#pragma once

#include "protocol/messages_compute.hpp"

#include <deque>
#include <map>
#include <vector>

namespace baton::protocol::rank_group {

/// A prompt that is being computed, chunk by chunk, in order of arrival.
struct prefill_job {
  submit_prefill asked;
  std::uint32_t planned = 0; ///< tokens that plans have covered
};

/// A sequence that generates.
struct decode_job {
  activate_sequence asked;
  std::uint32_t emitted = 0; ///< tokens so far
  token_id last_token;
};

/// What has left the batch: a prompt whose last chunk is planned, one that was cancelled, or a
/// sequence that generated.
enum class leaver : std::uint8_t { computed_prompt, cancelled_prompt, decoded };

/// A sequence that has left the batch but may still be read or written by an issued plan.
struct leaving {
  std::uint64_t last_step = 0; ///< quiesced once every rank has completed it
  leaver what = leaver::decoded;
  std::vector<bool> digested{}; ///< by rank; empty unless the ranks were asked for a digest
};

struct batch {
  std::deque<prefill_job> prefills;
  std::map<sequence_id, decode_job> decodes;
  std::map<sequence_id, leaving> leaving_ones;
  std::map<sequence_id, std::uint64_t> last_step; ///< of each sequence that is or was in a plan
};

/// The slices of step `step`: one for every decoding sequence, then prompt chunks in order of
/// arrival until `chunk_tokens` prompt tokens are in the plan. Marks what it has planned.
std::vector<plan_slice> plan_step(batch& b, std::uint64_t step, std::uint32_t chunk_tokens);

} // namespace baton::protocol::rank_group
