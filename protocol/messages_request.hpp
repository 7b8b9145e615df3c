// Messages between the client, the router's request and its attempts.
#pragma once

#include "protocol/ids.hpp"
#include "protocol/outcome.hpp"
#include "protocol/packed_floats.hpp"
#include "protocol/real.hpp"
#include "protocol/tokens.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace baton::protocol {

/// How tokens are drawn; seed and position alone decide each draw.
struct sampling_spec {
  real temperature;
  real top_p = real::of(1.0F);
  std::uint32_t top_k = 0;
  std::uint64_t seed = 0;

  static constexpr const char* type = "sampling_spec";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("temperature", s.temperature), field("top_p", s.top_p),
                           field("top_k", s.top_k), field("seed", s.seed));
  }
};

/// What a test script may break, in clusters whose configuration allows it.
struct fault_spec {
  std::string manifest_field;         ///< falsify this field of the offered manifest
  std::uint32_t stall_after_permille = 1000; ///< stop offering after this share of the pieces …
  std::int64_t stall_ms = 0;          ///< … for so long
  std::int64_t lease_ms = 0;          ///< 0: derived from bytes and link rate
  bool duplicate_offers = false;      ///< offer each piece twice
  bool wrong_incarnation = false;     ///< admit lanes for another life of the source
  bool refuse_reservation = false;    ///< the decode group refuses
  std::string cancel_at;              ///< cancel when the attempt enters this phase

  static constexpr const char* type = "fault_spec";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(
      field("manifest_field", s.manifest_field),
      field("stall_after_permille", s.stall_after_permille), field("stall_ms", s.stall_ms),
      field("lease_ms", s.lease_ms), field("duplicate_offers", s.duplicate_offers),
      field("wrong_incarnation", s.wrong_incarnation),
      field("refuse_reservation", s.refuse_reservation), field("cancel_at", s.cancel_at));
  }
};

/// Everything about a request but its prompt.
struct request_spec {
  external_id external;
  tenant_name tenant;
  group_name prefill_group; ///< empty: the router chooses
  group_name decode_group;  ///< empty: the router chooses
  std::uint32_t prompt_tokens = 0;
  std::string prompt_digest;       ///< of the canonical ids; set by the router
  std::uint32_t output_tokens = 0; ///< budget, at least 1
  bool ignore_eos = false;
  sampling_spec sampling;
  std::int64_t deadline_ms = 0; ///< from submission; 0: the router's default
  std::uint32_t retries = 0;    ///< further attempts while nothing is visible
  std::int64_t queue_ms = 0;    ///< how long it may wait for room in each pool; 0: refused at once
  std::int64_t hold_ms = 0;     ///< keep the memory for so long after the last token
  bool record_logits = false;
  bool record_kv_digest = false;
  fault_spec fault;

  static constexpr const char* type = "request_spec";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(
      field("external", s.external), field("tenant", s.tenant),
      field("prefill_group", s.prefill_group), field("decode_group", s.decode_group),
      field("prompt_tokens", s.prompt_tokens), field("prompt_digest", s.prompt_digest),
      field("output_tokens", s.output_tokens),
      field("ignore_eos", s.ignore_eos), field("sampling", s.sampling),
      field("deadline_ms", s.deadline_ms), field("retries", s.retries),
      field("queue_ms", s.queue_ms), field("hold_ms", s.hold_ms),
      field("record_logits", s.record_logits),
      field("record_kv_digest", s.record_kv_digest), field("fault", s.fault));
  }
};

/// Why generation ended; `none` while it goes on.
enum class finish_reason : std::uint8_t { none, stop, length };
const char* to_string(finish_reason r);
constexpr finish_reason last_value(finish_reason) { return finish_reason::length; }

/// How a request ended for its client. `refused`: it was never admitted.
enum class outcome_kind : std::uint8_t { completed, failed, cancelled, interrupted, refused };
const char* to_string(outcome_kind k);
constexpr outcome_kind last_value(outcome_kind) { return outcome_kind::refused; }

/// Where an attempt is, as its request and its client see it.
enum class attempt_phase : std::uint8_t {
  placing, reserving, prefilling, handing_off, decoding, done, abandoned, drained
};
const char* to_string(attempt_phase p);
constexpr attempt_phase last_value(attempt_phase) { return attempt_phase::drained; }

// ---- client -> router

/// Exactly one of prompt_text and prompt is set, unless spec.prompt_tokens asks for a synthetic
/// one.
struct submit_request {
  request_spec spec;
  private_text prompt_text;
  token_list prompt;

  static constexpr const char* type = "submit_request";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("spec", s.spec), field("prompt_text", s.prompt_text),
                           field("prompt", s.prompt));
  }
};

/// The client wants this request to end. Also sent on its behalf when it dies.
struct cancel_request {
  external_id external;
  failure why;

  static constexpr const char* type = "cancel_request";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("external", s.external), field("why", s.why));
  }
};

// ---- router -> client

struct request_accepted {
  external_id external;
  request_id request;

  static constexpr const char* type = "request_accepted";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("external", s.external), field("request", s.request));
  }
};

/// The attempt of a request has entered a phase.
struct phase_entered {
  attempt_id attempt;
  attempt_phase phase = attempt_phase::placing;

  static constexpr const char* type = "phase_entered";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("phase", s.phase));
  }
};

/// One token of a request's stream; indices run 0, 1, 2, … without gap or repeat.
struct frame_forwarded {
  external_id external;
  attempt_id attempt;
  std::uint32_t index = 0;
  token_id token;
  packed_floats logits; ///< only if recorded
  std::uint64_t kv_digest = 0; ///< with the last frame, if recorded

  static constexpr const char* type = "frame_forwarded";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("external", s.external), field("attempt", s.attempt),
                           field("index", s.index), field("token", s.token),
                           field("logits", s.logits), field("kv_digest", s.kv_digest));
  }
};

/// The request's one and only outcome.
struct request_ended {
  external_id external;
  request_id request;
  outcome_kind kind = outcome_kind::failed;
  finish_reason finish = finish_reason::none;
  failure why;
  std::uint32_t tokens = 0; ///< frames that the client was sent: the cursor
  std::uint32_t attempts = 0;

  static constexpr const char* type = "request_ended";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("external", s.external), field("request", s.request),
                           field("kind", s.kind), field("finish", s.finish), field("why", s.why),
                           field("tokens", s.tokens), field("attempts", s.attempts));
  }
};

// ---- inside the router

struct open_request {
  request_id request;
  request_spec spec;
  router_epoch epoch;

  static constexpr const char* type = "open_request";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("request", s.request), field("spec", s.spec),
                           field("epoch", s.epoch));
  }
};

struct deadline_reached {
  static constexpr const char* type = "deadline_reached";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

struct start_attempt {
  attempt_id attempt;
  request_spec spec;
  std::int64_t deadline_ms = 0; ///< what is left of the request's; 0: none

  static constexpr const char* type = "start_attempt";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("spec", s.spec),
                           field("deadline_ms", s.deadline_ms));
  }
};

/// The request gives an attempt up. It must still drain.
struct cancel_attempt {
  attempt_id attempt;
  failure why;

  static constexpr const char* type = "cancel_attempt";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("why", s.why));
  }
};

/// The attempt cannot succeed any more. Its memory is still charged until attempt_drained.
struct attempt_failed {
  attempt_id attempt;
  failure why;

  static constexpr const char* type = "attempt_failed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("why", s.why));
  }
};

/// Nothing of the attempt holds memory any more, on evidence; its actor ends.
struct attempt_drained {
  attempt_id attempt;

  static constexpr const char* type = "attempt_drained";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt));
  }
};

/// Compare-and-swap: is this attempt still the current one, and is none committed?
struct claim_commit {
  attempt_id attempt;

  static constexpr const char* type = "claim_commit";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt));
  }
};

struct commit_claimed {
  attempt_id attempt;
  failure refusal; ///< none: granted

  static constexpr const char* type = "commit_claimed";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt), field("refusal", s.refusal));
  }
};

/// The destination did not commit after the claim was granted: no owner exists.
struct commit_abandoned {
  attempt_id attempt;

  static constexpr const char* type = "commit_abandoned";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt));
  }
};

struct end_actor {
  static constexpr const char* type = "end_actor";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// Ask the shell to send `deadline_reached` (or the machine's own expiry event) after so long.
struct arm_timer {
  std::int64_t delay_ms = 0;

  static constexpr const char* type = "arm_timer";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("delay_ms", s.delay_ms));
  }
};

} // namespace baton::protocol
