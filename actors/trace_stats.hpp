// Figures of a run from its traces: outcomes, latencies joined per request, bytes, waits.
#pragma once

#include "actors/trace_files.hpp"

#include <map>
#include <string>
#include <vector>

namespace baton::actors {

/// Durations in nanoseconds, kept whole: quantiles are exact.
class sample_set {
public:
  void add(std::int64_t ns) { values_.push_back(ns); }
  std::size_t count() const { return values_.size(); }
  /// The smallest value that at least `percent` of the values do not exceed; 0 when empty.
  std::int64_t quantile_ns(int percent);

private:
  std::vector<std::int64_t> values_;
};

struct trace_stats {
  std::uint64_t records = 0;
  std::uint64_t unreadable = 0; ///< records that were left out
  protocol::failure first_unreadable;
  std::uint64_t requests = 0;
  std::uint64_t messages_of_requests = 0;
  std::map<std::string, std::uint64_t> outcomes; ///< "completed", "failed: lease_expired", …
  std::map<std::string, std::uint64_t> bytes_landed; ///< by destination node, its lanes' payloads
  sample_set first_token;  ///< submitted -> frame 0, at the client, else at the router
  sample_set inter_token;  ///< between frames of one request
  sample_set end_to_end;   ///< submitted -> outcome
  sample_set reserve_to_commit; ///< attempt placed -> committed, as the attempt hears of both
  sample_set hand_off;     ///< last source kernel known complete -> commit
  sample_set mailbox_wait; ///< sent -> handled, all messages
  sample_set handling;
};

/// One pass over all records; unreadable ones are left out and counted.
trace_stats gather_stats(const trace_files& files);

std::string to_table(trace_stats& stats);
std::string to_json_text(trace_stats& stats);

} // namespace baton::actors
