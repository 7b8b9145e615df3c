// What must match before a byte moves. The destination builds `expected` from what it trusts (the
// router's request and its own model); the source offers its own; each difference is refused by the
// name of its field. A manifest describes a transfer, it never authorises itself.
#pragma once

#include "protocol/ids.hpp"
#include "protocol/outcome.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace baton::protocol {

/// The model half: what a group computes with. Two groups that differ here must not exchange KV.
struct model_identity {
  std::string model;            ///< name, for people
  std::string weights_digest;
  std::string tokenizer_digest;
  std::uint32_t layers = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t hidden = 0;
  std::string dtype;            ///< of KV elements: "f32", "bf16"
  std::uint32_t block_tokens = 0;
  std::string layout;           ///< "block[layer][kv][head][token][dim]"
  std::string rope;             ///< parameters, as text
  std::string attention_backend;
  bool batch_invariant = true;
  std::string compute_dtype;

  static constexpr const char* type = "model_identity";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(
      field("model", s.model), field("weights_digest", s.weights_digest),
      field("tokenizer_digest", s.tokenizer_digest), field("layers", s.layers),
      field("kv_heads", s.kv_heads), field("head_dim", s.head_dim), field("hidden", s.hidden),
      field("dtype", s.dtype), field("block_tokens", s.block_tokens), field("layout", s.layout),
      field("rope", s.rope), field("attention_backend", s.attention_backend),
      field("batch_invariant", s.batch_invariant), field("compute_dtype", s.compute_dtype));
  }
};

struct manifest {
  // Identity.
  attempt_id attempt;
  reservation_id reservation;
  std::uint64_t generation_sum = 0; ///< sum of the granted blocks' generations
  incarnation destination;
  // Meaning.
  model_identity model;
  std::string prompt_digest; ///< of the canonical token ids
  std::uint32_t prompt_tokens = 0;
  std::uint32_t range_begin = 0; ///< valid tokens to transfer: [range_begin, range_end)
  std::uint32_t range_end = 0;
  // Shape on both sides.
  std::uint32_t source_tp = 0;
  std::uint32_t destination_tp = 0;
  std::string head_partition; ///< "contiguous"
  std::string converter;      ///< "" when both TP degrees are equal, else "split_heads"
  // Resume state.
  std::string resume;             ///< "final_hidden_f32"
  std::string first_token_owner;  ///< "decode"
  std::string sampler;            ///< "greedy" or "counter_v1"
  std::uint64_t sampler_counter = 0; ///< position of the first token to sample

  static constexpr const char* type = "manifest";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(
      field("attempt", s.attempt), field("reservation", s.reservation),
      field("generation_sum", s.generation_sum), field("destination", s.destination),
      field("model", s.model), field("prompt_digest", s.prompt_digest),
      field("prompt_tokens", s.prompt_tokens), field("range_begin", s.range_begin),
      field("range_end", s.range_end), field("source_tp", s.source_tp),
      field("destination_tp", s.destination_tp), field("head_partition", s.head_partition),
      field("converter", s.converter), field("resume", s.resume),
      field("first_token_owner", s.first_token_owner), field("sampler", s.sampler),
      field("sampler_counter", s.sampler_counter));
  }
};

/// One difference: the field's path ("model.dtype") and both values as text.
struct manifest_difference {
  std::string field_name;
  std::string expected;
  std::string offered;

  static constexpr const char* type = "manifest_difference";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("field_name", s.field_name), field("expected", s.expected),
                           field("offered", s.offered));
  }
};

/// Every difference between the two, in field order; empty when they match. model.model (a name
/// for people) is compared too.
std::vector<manifest_difference> compare(const manifest& expected, const manifest& offered);

/// reason::none when equal, else manifest_mismatch with all differences in the text.
failure check_manifest(const manifest& expected, const manifest& offered);

/// For fault scripts: sets the field named by its path to a value that differs from the present
/// one. False when there is no such field.
bool falsify(manifest& m, const std::string& field_path);

/// Paths of all fields, in order: what falsify understands.
std::vector<std::string> manifest_field_paths();

} // namespace baton::protocol
