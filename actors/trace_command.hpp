// `baton trace`: shows, checks and summarises what a run has recorded.
#pragma once

#include "protocol/outcome.hpp"

#include <string>

namespace baton::actors {

/// baton trace show REQUEST DIR | check DIR | stats DIR | path [REQUEST] DIR |
/// blocks GROUP[:BLOCK] DIR | export --perfetto FILE DIR. 0: as asked; 1: violations, or the trace
/// cannot be read or a file not written; 2: wrong arguments.
int trace_main(int argc, char** argv);

/// `trace check` for a cluster that still runs, is idle and has flushed: its line ("trace check: ok
/// (…)") and, below, each violation. A failure when the directory cannot be read.
struct trace_verdict {
  bool ok = false;
  std::string text;
};
protocol::outcome<trace_verdict> check_idle_cluster(const std::string& directory);

} // namespace baton::actors
