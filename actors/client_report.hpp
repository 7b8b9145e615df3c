// The end of a run in figures: a table for people and JSON for programs. Pure.
#pragma once

#include "actors/client_run.hpp"
#include "protocol/json_codec.hpp"

#include <optional>
#include <string>
#include <vector>

namespace baton::actors {

/// Up to so many requests have a line each in the table; more are summed up by outcome.
inline constexpr std::size_t table_requests_max = 20;

/// What one request's client saw, in milliseconds of the client's clock.
struct request_timing {
  std::optional<double> ttft_ms;    ///< submission to first frame; none: no frame came
  std::optional<double> itl_p50_ms; ///< median gap between frames; none: fewer than two
  std::optional<double> total_ms;   ///< submission to outcome; none: no outcome
};
request_timing timing_of(const request_account& account);

/// The smallest value that at least `percent` of all values do not exceed (nearest rank); none for
/// no values. `percent` in 1 to 100.
std::optional<double> percentile(std::vector<double> values, std::uint32_t percent);

/// Of all requests together.
struct run_totals {
  run_counts counts;
  std::vector<std::pair<std::string, std::uint32_t>> outcomes; ///< "failed (lease_expired)", 2
  double elapsed_s = 0; ///< first submission to last outcome
  double tokens_per_s = 0;
  std::optional<double> ttft_p50_ms;
  std::optional<double> ttft_p90_ms;
  std::optional<double> ttft_p99_ms;
};
run_totals totals_of(const client_run& run);

/// The table and the totals, lines ended by newlines.
std::string summary(const client_run& run);

/// What a run came to, beside its requests.
struct run_verdict {
  int exit_code = 0;
  std::vector<std::string> failed; ///< lines about failed expectations and errors of the run
  std::string pools;               ///< empty: not asked for
  std::string trace;               ///< empty: not asked for
};

/// Everything of the run: for each request its tokens, text, times, digests of logits (XXH3, one
/// for each frame) and of its KV cache; the totals; the verdict.
protocol::json report_json(const protocol::script& script, const client_run& run,
                           const run_verdict& verdict);

} // namespace baton::actors
