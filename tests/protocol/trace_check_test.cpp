#include "protocol/trace_check.hpp"

#include "tests/protocol/trace_cluster.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

std::string all_text(const check_report& report) {
  std::string text;
  for (const auto& v : report.violations)
    text += to_text(v);
  return text;
}

check_report check(const memory_trace& trace) { return check_trace(trace, trace_extent::whole); }

} // namespace

TEST_CASE("hand-offs between two groups check: ok") {
  const memory_trace trace = record_hand_offs({});
  const check_report report = check(trace);
  CHECK_MESSAGE(report.ok(), all_text(report));
  CHECK(report.requests == 2);
  CHECK(report.records == trace.records.size());
  CHECK(report.notes.empty());
}

TEST_CASE("hand-offs in place check: ok") {
  const check_report report = check(record_hand_offs({2, true, 60'000}));
  CHECK_MESSAGE(report.ok(), all_text(report));
  CHECK(report.requests == 2);
}
