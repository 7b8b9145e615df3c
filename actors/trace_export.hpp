// A run's trace for other programs, written record by record: memory holds their keys only.
#pragma once

#include "actors/trace_files.hpp"

#include <ostream>

namespace baton::actors {

/// What was written, and what could not be.
struct export_result {
  std::uint64_t slices = 0;
  std::uint64_t flows = 0;
  std::uint64_t backward = 0;   ///< flows left out: handled before they were sent, by their clocks
  std::uint64_t unreadable = 0; ///< records left out
  protocol::failure first_unreadable;
};

/// Chrome's JSON trace event format, which Perfetto's UI opens: a process for each life of a node,
/// a track for each actor, a slice for each handling, a flow for each message from the handling
/// that sent it, a track of kernels for each compute device, counters of the blocks of each pool.
/// Times are microseconds after the trace's first record.
export_result export_perfetto(const trace_files& files, std::ostream& out);

/// Every record as a line of JSON as it was written, with its node's name, all nodes in causal
/// order.
export_result export_json(const trace_files& files, std::ostream& out);

} // namespace baton::actors
