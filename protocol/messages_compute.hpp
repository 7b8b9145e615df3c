// Messages of a rank group: what a source hold or a reservation asks of the group's leader, the
// step plans that the leader issues to every rank, and what the ranks say has happened.
#pragma once

#include "protocol/messages_reserve.hpp"

namespace baton::protocol {

// ---- hold, reservation -> group

/// Compute the prompt's KV into these blocks, chunk by chunk.
struct submit_prefill {
  sequence_id sequence;
  attempt_id attempt;
  token_list prompt;
  std::vector<block_id> blocks;
  bool in_place = false; ///< a mixed group: the same blocks will be decoded

  static constexpr const char* type = "submit_prefill";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence), field("attempt", s.attempt),
                           field("prompt", s.prompt), field("blocks", s.blocks),
                           field("in_place", s.in_place));
  }
};

/// Boundary 3 is passed: decode this sequence, whose prompt's KV is in these blocks.
struct activate_sequence {
  sequence_id sequence;
  attempt_id attempt;
  token_list prompt;
  std::vector<block_id> blocks;
  std::uint32_t output_tokens = 0;
  bool ignore_eos = false;
  sampling_spec sampling;
  bool record_logits = false;
  bool record_kv_digest = false;

  static constexpr const char* type = "activate_sequence";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence), field("attempt", s.attempt),
                           field("prompt", s.prompt), field("blocks", s.blocks),
                           field("output_tokens", s.output_tokens),
                           field("ignore_eos", s.ignore_eos), field("sampling", s.sampling),
                           field("record_logits", s.record_logits),
                           field("record_kv_digest", s.record_kv_digest));
  }
};

/// Take the sequence out of the batch, between plans. Answered by sequence_quiesced.
struct cancel_sequence {
  sequence_id sequence;

  static constexpr const char* type = "cancel_sequence";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence));
  }
};

// ---- group -> hold, reservation, request

/// Every rank's kernels for the whole prompt have completed.
struct prefill_computed {
  sequence_id sequence;

  static constexpr const char* type = "prefill_computed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence));
  }
};

/// Group -> request: one token of the committed attempt.
struct token_emitted {
  attempt_id attempt;
  std::uint32_t index = 0;
  token_id token;
  finish_reason finish = finish_reason::none; ///< set with the last token
  packed_floats logits;
  std::uint64_t kv_digest = 0; ///< with the last token, if recorded

  static constexpr const char* type = "token_emitted";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("index", s.index),
                           field("token", s.token), field("finish", s.finish),
                           field("logits", s.logits), field("kv_digest", s.kv_digest));
  }
};

/// Generation has ended; the last reading step may still run on some rank.
struct sequence_finished {
  sequence_id sequence;
  finish_reason finish = finish_reason::none;
  failure why;
  std::uint32_t tokens = 0;

  static constexpr const char* type = "sequence_finished";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence), field("finish", s.finish),
                           field("why", s.why), field("tokens", s.tokens));
  }
};

/// Evidence: no kernel of any rank reads or writes the sequence's blocks, or will.
struct sequence_quiesced {
  sequence_id sequence;

  static constexpr const char* type = "sequence_quiesced";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence));
  }
};

// ---- group -> ranks

/// What a slice of a step does with its sequence.
enum class slice_kind : std::uint8_t {
  prefill,      ///< positions [start, start + count) of the prompt
  last_prefill, ///< the same, and return the final hidden state
  first_token,  ///< LM head on the resume state: samples position start
  decode        ///< one token at position start; samples position start + 1
};

/// Ranks remember a sequence, so that plans stay small.
struct begin_sequence {
  sequence_id sequence;
  attempt_id attempt;
  token_list prompt;
  std::vector<block_id> blocks;
  sampling_spec sampling;
  bool record_logits = false;
  bool in_place = false; ///< keep the final hidden state here

  static constexpr const char* type = "begin_sequence";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence), field("attempt", s.attempt),
                           field("prompt", s.prompt), field("blocks", s.blocks),
                           field("sampling", s.sampling), field("record_logits", s.record_logits),
                           field("in_place", s.in_place));
  }
};

/// Ranks forget it. Sent after it is quiesced.
struct end_sequence {
  sequence_id sequence;

  static constexpr const char* type = "end_sequence";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence));
  }
};

/// Reservation -> ranks: drop the attempt's resume state, if it is still kept.
struct forget_attempt {
  attempt_id attempt;

  static constexpr const char* type = "forget_attempt";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt));
  }
};

/// One sequence's share of a step.
struct plan_slice {
  sequence_id sequence;
  slice_kind kind = slice_kind::prefill;
  std::uint32_t start = 0;
  std::uint32_t count = 0;
  token_id token; ///< input of a decode slice

  static constexpr const char* type = "plan_slice";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence), field("kind", s.kind),
                           field("start", s.start), field("count", s.count),
                           field("token", s.token));
  }
};

/// A numbered step plan. Every rank executes every plan, in order.
struct run_step {
  group_epoch epoch;
  step_number step;
  std::vector<plan_slice> slices;

  static constexpr const char* type = "run_step";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("epoch", s.epoch), field("step", s.step),
                           field("slices", s.slices));
  }
};

/// Abort collectives, fail queued plans: the group's epoch has ended.
struct poison_rank {
  group_epoch epoch;
  failure why;

  static constexpr const char* type = "poison_rank";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("epoch", s.epoch), field("why", s.why));
  }
};

/// Digest the KV bytes of positions [0, tokens), for tests of agreement.
struct digest_kv {
  sequence_id sequence;
  std::uint32_t tokens = 0;

  static constexpr const char* type = "digest_kv";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence), field("tokens", s.tokens));
  }
};

// ---- ranks -> group

/// What a slice produced.
struct slice_output {
  sequence_id sequence;
  token_id token;
  bool sampled = false;
  bool is_eos = false;
  packed_floats logits;

  static constexpr const char* type = "slice_output";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence), field("token", s.token),
                           field("sampled", s.sampled), field("is_eos", s.is_eos),
                           field("logits", s.logits));
  }
};

/// The rank's kernels of this step have completed.
struct step_completed {
  rank_id rank;
  group_epoch epoch;
  step_number step;
  std::vector<slice_output> results; ///< only from rank 0

  static constexpr const char* type = "step_completed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("rank", s.rank), field("epoch", s.epoch), field("step", s.step),
                           field("results", s.results));
  }
};

/// The step did not run to its end on this rank, and nothing of it runs any more.
struct step_failed {
  rank_id rank;
  group_epoch epoch;
  step_number step;
  failure why;

  static constexpr const char* type = "step_failed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("rank", s.rank), field("epoch", s.epoch), field("step", s.step),
                           field("why", s.why));
  }
};

/// One rank's share of a KV digest: XOR over ranks is independent of TP and block table.
struct kv_digested {
  rank_id rank;
  sequence_id sequence;
  std::uint64_t digest = 0;

  static constexpr const char* type = "kv_digested";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("rank", s.rank), field("sequence", s.sequence),
                           field("digest", s.digest));
  }
};

/// A rank's node is gone: the whole group is one unit. It may be silent only, and wake again with
/// plans that it has been given: what it had to run has ended when its process has, and not before.
struct rank_lost {
  rank_id rank;
  failure why;
  bool dead = false; ///< evidence: every thread of its process has ended

  static constexpr const char* type = "rank_lost";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("rank", s.rank), field("why", s.why), field("dead", s.dead));
  }
};

/// First event of a group's leader.
struct form_group {
  group_name group;
  std::uint32_t ranks = 0;
  std::uint32_t prefill_chunk_tokens = 0;
  std::uint32_t decode_slots = 0;

  static constexpr const char* type = "form_group";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("group", s.group), field("ranks", s.ranks),
                           field("prefill_chunk_tokens", s.prefill_chunk_tokens),
                           field("decode_slots", s.decode_slots));
  }
};

/// A rank of the group can take plans.
struct rank_joined {
  rank_id rank;
  incarnation life;

  static constexpr const char* type = "rank_joined";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("rank", s.rank), field("life", s.life));
  }
};

} // namespace baton::protocol
