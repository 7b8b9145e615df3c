// Time as a value. protocol/ never reads a clock: whoever steps a machine passes `now`.
#pragma once

#include <cstdint>

namespace baton::protocol {

/// A point on one node's monotonic clock. Never sent to another node: send a remaining duration.
struct instant {
  std::int64_t ns = 0;

  friend bool operator==(instant a, instant b) { return a.ns == b.ns; }
  friend bool operator!=(instant a, instant b) { return a.ns != b.ns; }
  friend bool operator<(instant a, instant b) { return a.ns < b.ns; }
  friend bool operator<=(instant a, instant b) { return a.ns <= b.ns; }
  friend bool operator>=(instant a, instant b) { return a.ns >= b.ns; }
};

constexpr instant after_ms(instant now, std::int64_t ms) { return {now.ns + ms * 1'000'000}; }
constexpr std::int64_t ms_between(instant from, instant to) {
  return (to.ns - from.ns) / 1'000'000;
}

} // namespace baton::protocol
