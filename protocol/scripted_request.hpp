// One request of a script: what to ask, when to cancel it, how it must end.
#pragma once

#include "protocol/limits.hpp"
#include "protocol/messages_request.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace baton::protocol {

struct prompt_text {
  std::string text;

  static constexpr const char* type = "prompt_text";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("text", s.text));
  }
};

/// So many synthetic ids, made from the request's sampling seed: see synthetic_prompt.
struct prompt_length {
  std::uint32_t tokens = 0;

  static constexpr const char* type = "prompt_length";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("tokens", s.tokens));
  }
};

using prompt_source = std::variant<prompt_text, token_list, prompt_length>;

/// Cancel when the attempt enters this phase. A client would learn of the phase too late, so the
/// router does it itself: the same phase is in spec.fault.cancel_at.
struct cancel_at_phase {
  attempt_phase phase = attempt_phase::placing;

  static constexpr const char* type = "cancel_at_phase";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("phase", s.phase));
  }
};

/// Cancel so long after submission.
struct cancel_after_ms {
  std::int64_t ms = 0;

  static constexpr const char* type = "cancel_after_ms";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("ms", s.ms));
  }
};

/// Cancel once the client has so many frames.
struct cancel_after_tokens {
  std::uint32_t tokens = 0;

  static constexpr const char* type = "cancel_after_tokens";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("tokens", s.tokens));
  }
};

using cancel_plan = std::variant<cancel_at_phase, cancel_after_ms, cancel_after_tokens>;

/// The tokens of the answer are in a file: int32, little-endian, nothing else.
struct tokens_file {
  std::string path;

  static constexpr const char* type = "tokens_file";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("path", s.path));
  }
};

using expected_tokens = std::variant<token_list, tokens_file>;

/// How a request must end; what is empty or none is not checked.
struct request_expectation {
  std::optional<outcome_kind> outcome;
  std::optional<reason> why;
  std::optional<expected_tokens> tokens;
  std::string text_contains;
  std::optional<std::uint32_t> token_count;
  external_id same_as; ///< another request of the script, whose tokens must be equal
  std::string message_contains;

  static constexpr const char* type = "request_expectation";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(
      field("outcome", s.outcome), field("reason", s.why), field("tokens", s.tokens),
      field("text_contains", s.text_contains), field("token_count", s.token_count),
      field("same_as", s.same_as), field("message_contains", s.message_contains));
  }
};

struct scripted_request {
  request_spec spec;    ///< prompt_tokens is 0 for a text
  prompt_source prompt;
  std::uint32_t count = 1; ///< copies; 1 in an expanded script
  std::int64_t at_ms = 0;  ///< submission, from the start of the script
  std::optional<cancel_plan> cancel;
  request_expectation expect;
  /// Requests of one generator share its name, and at most batch_open_max of them are open.
  std::string batch;
  std::uint32_t batch_open_max = limits::requests_open_max;

  static constexpr const char* type = "scripted_request";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("spec", s.spec), field("prompt", s.prompt),
                           field("count", s.count), field("at_ms", s.at_ms),
                           field("cancel", s.cancel), field("expect", s.expect),
                           field("batch", s.batch), field("batch_open_max", s.batch_open_max));
  }
};

/// True when the request asks for a fault, which a cluster must allow. A cancel at a phase is none:
/// any client may cancel at any time.
bool has_fault(const request_spec& spec);

/// The ids of a prompt_length: id i depends on (seed, i) and the vocabulary's size alone, so that a
/// longer prompt begins with the shorter one. vocab > 0.
std::vector<std::int32_t> synthetic_prompt(std::uint32_t tokens, std::uint64_t seed,
                                           std::uint32_t vocab);

} // namespace baton::protocol
