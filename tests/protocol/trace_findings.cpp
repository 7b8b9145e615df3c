#include "tests/protocol/trace_findings.hpp"

#include <algorithm>
#include <doctest/doctest.h>

namespace baton::tests {

using namespace protocol;

found_violation found(const memory_trace& trace, const std::string& id, trace_extent extent) {
  const check_report report = check_trace(trace, extent);
  std::string others;
  for (const auto& v : report.violations) {
    if (v.what.id == id)
      return v;
    others += v.what.id + " ";
  }
  FAIL_CHECK("no " << id << " among: " << others);
  return {};
}

bool keeps(const memory_trace& trace, const std::string& id) {
  const check_report report = check_trace(trace, trace_extent::whole);
  return std::none_of(report.violations.begin(), report.violations.end(),
                      [&](const auto& v) { return v.what.id == id; });
}

bool mentions(const found_violation& v, const std::string& words) {
  return to_text(v).find(words) != std::string::npos;
}

} // namespace baton::tests
