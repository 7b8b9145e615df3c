// The whole verdict on a trace: every machine replayed, every invariant looked at across nodes, and
// what must hold at the end. One pass in causal order; pure.
#pragma once

#include "protocol/invariants.hpp"

#include <string>
#include <vector>

namespace baton::protocol {

/// Whether the trace is of a run that has ended.
enum class trace_extent : std::uint8_t { whole, partial };

struct found_violation {
  violation what;
  std::vector<std::string> chain; ///< the messages that show it, as lines, the offending one last
};

struct check_report {
  std::uint64_t records = 0;
  std::uint64_t actors = 0;
  std::uint64_t requests = 0;
  std::vector<found_violation> violations; ///< at most violations_kept_max of each kind
  std::uint64_t violations_count = 0;
  std::vector<std::string> notes; ///< what could not be judged, and why

  bool ok() const { return violations_count == 0; }
};

/// `partial`: what must hold at the end is left out.
check_report check_trace(const trace_source& source, trace_extent extent);

/// The violation as text: id and sentence, blocks, chain; several lines.
std::string to_text(const found_violation& violation);

} // namespace baton::protocol
