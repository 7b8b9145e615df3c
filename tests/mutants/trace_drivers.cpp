// Runs that leave a trace, judged by the trace check alone: what a person could find in a cluster's
// files.
#include "protocol/trace_check.hpp"
#include "tests/mutants/driver.hpp"
#include "tests/protocol/trace_cluster.hpp"

namespace baton::mutants {

namespace {

/// More requests than a tenant's share, so that what is not given back is missed.
constexpr std::uint32_t requests = 12;

std::string traces(progress& at) {
  for (const bool in_place : {false, true}) {
    ++at.tries;
    const auto trace = tests::record_hand_offs({requests, in_place});
    at.steps = trace.records.size();
    const auto report = protocol::check_trace(trace, protocol::trace_extent::whole);
    if (!report.ok())
      return report.violations.front().what.id + ": " + report.violations.front().what.sentence;
    if (report.requests != requests)
      return std::to_string(report.requests) + " of " + std::to_string(requests)
             + " requests were let in";
  }
  return "";
}

} // namespace

std::vector<driver> trace_drivers() {
  return {{"trace", "requests one after the other, judged by the trace check", traces}};
}

} // namespace baton::mutants
