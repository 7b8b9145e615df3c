// A float that crosses process borders as its bits: CAF 0.17 rounds floats on the wire, and a token
// sampled with another temperature is another token.
#pragma once

#include "protocol/fields.hpp"

#include <cstdint>
#include <cstring>

namespace baton::protocol {

struct real {
  std::uint32_t bits = 0; ///< IEEE 754 binary32; the default is 0.0

  float get() const {
    float value = 0.0F;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  static real of(float value) {
    real r;
    std::memcpy(&r.bits, &value, sizeof value);
    return r;
  }

  static constexpr const char* type = "real";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("bits", s.bits));
  }
};

} // namespace baton::protocol
