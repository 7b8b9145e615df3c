// What the trace check finds in a trace that a test has broken.
#pragma once

#include "protocol/trace_check.hpp"
#include "tests/protocol/memory_trace.hpp"

#include <string>

namespace baton::tests {

/// The first violation of that invariant; fails the test when there is none.
protocol::found_violation found(const memory_trace& trace, const std::string& id,
                                protocol::trace_extent extent = protocol::trace_extent::whole);

/// True when no violation of that invariant is found, whatever else is.
bool keeps(const memory_trace& trace, const std::string& id);

bool mentions(const protocol::found_violation& v, const std::string& words);

} // namespace baton::tests
