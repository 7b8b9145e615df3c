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
/// What is left at `now` of a bound of `bound_ms` (0: there is none) that began at `from`. A bound
/// that is over leaves 1 ms, for 0 would lift it.
constexpr std::int64_t left_of_ms(std::int64_t bound_ms, instant from, instant now) {
  const std::int64_t left = bound_ms - ms_between(from, now);
  return bound_ms == 0 ? 0 : (left > 1 ? left : 1);
}

} // namespace baton::protocol
