// A script file: what a client asks of a cluster, and what must come of it.
//
//   script.json ──parse_script──▶ script ──expand──▶ requests, one by one, in order of submission
//                                   └──check_script(cluster)──▶ groups, tenants and faults exist
#pragma once

#include "protocol/cluster_config.hpp"
#include "protocol/scripted_request.hpp"

#include <set>
#include <utility>

namespace baton::protocol {

/// Inclusive.
struct token_range {
  std::uint32_t min = 1;
  std::uint32_t max = 1;

  static constexpr const char* type = "token_range";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("min", s.min), field("max", s.max));
  }
};

/// Many similar requests, drawn from `seed`: prompts, budgets and cancels are uniform.
struct request_generator {
  std::string id;
  std::uint32_t count = 0;
  std::uint64_t seed = 1;
  token_range prompt_length;
  token_range output_tokens;
  std::uint32_t rate_per_s = 0; ///< evenly spaced; 0: all at the start
  std::uint32_t max_open = limits::requests_open_max;
  real cancel_fraction;
  tenant_name tenant;

  static constexpr const char* type = "request_generator";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(
      field("id", s.id), field("count", s.count), field("seed", s.seed),
      field("prompt_length", s.prompt_length), field("output_tokens", s.output_tokens),
      field("rate_per_s", s.rate_per_s), field("max_open", s.max_open),
      field("cancel_fraction", s.cancel_fraction), field("tenant", s.tenant));
  }
};

/// What must hold of the whole run.
struct script_expectation {
  bool free_equals_capacity = false; ///< afterwards, in every pool
  bool trace_check = false;          ///< the trace passes every invariant
  std::optional<std::uint32_t> refused_count;
  std::vector<std::pair<outcome_kind, std::uint32_t>> outcomes; ///< only those that are checked

  static constexpr const char* type = "script_expectation";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("free_equals_capacity", s.free_equals_capacity),
                           field("trace_check", s.trace_check),
                           field("refused_count", s.refused_count), field("outcomes", s.outcomes));
  }
};

struct script {
  std::string name;
  std::string about; ///< what the script shows, for people
  std::vector<scripted_request> requests;
  std::vector<request_generator> generate;
  /// Open at once, all batches together: half of a tenant's default share, since the router counts
  /// a cancelled request until it has drained.
  std::uint32_t max_open = limits::tenant_requests_open_default / 2;
  std::int64_t timeout_ms = 120'000;
  script_expectation expect;

  static constexpr const char* type = "script";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("name", s.name), field("about", s.about),
                           field("requests", s.requests), field("generate", s.generate),
                           field("max_open", s.max_open), field("timeout_ms", s.timeout_ms),
                           field("expect", s.expect));
  }
};

/// Parses and checks a script file. bad_input: "script.json: requests[3].cancel.at: expected
/// placing, ..., got \"starting\"". `known_fields`, when given, receives every field that the
/// parser asked for.
outcome<script> parse_script(const std::string& text, const std::string& file_name,
                             std::set<std::string>* known_fields = nullptr);

/// bad_input, in the words of parse_script, when the script names what a cluster does not have: a
/// group in that role, the permission for faults. Asking for too much, or as an unknown tenant, is
/// no mistake of the script: it may expect the refusal.
failure check_script(const script& s, const cluster_config& cluster, const std::string& file_name);

/// Every request with count 1, ordered by at_ms, in file order within it. Copies and generated
/// requests are named "<id>-0", "<id>-1", …
std::vector<scripted_request> expand(const script& s);

/// How many requests expand would return.
std::uint64_t expanded_count(const script& s);

} // namespace baton::protocol
