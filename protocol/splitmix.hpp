// A counter-based generator for scripts: SplitMix64 (Steele, Lea, Flood: "Fast splittable
// pseudorandom number generators", OOPSLA 2014). The same seed gives the same script everywhere.
#pragma once

#include "protocol/assert.hpp"

#include <cstdint>

namespace baton::protocol {

class splitmix {
public:
  explicit splitmix(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  /// [min, max]. The bias of the modulus is below 2^-32 for the small ranges of a script.
  std::uint32_t between(std::uint32_t min, std::uint32_t max) {
    BATON_ASSERT(min <= max);
    return static_cast<std::uint32_t>(min + next() % (std::uint64_t{max} - min + 1));
  }

  /// [0, 1) with 53 random bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
  std::uint64_t state_;
};

} // namespace baton::protocol
