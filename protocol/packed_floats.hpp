// Floats in bulk (logits, resume state). They travel as raw bytes: CAF 0.17 corrupts single floats
// and serialises vectors element by element. Traces show only how many there were.
#pragma once

#include <vector>

namespace baton::protocol {

struct packed_floats {
  std::vector<float> values;

  friend bool operator==(const packed_floats& a, const packed_floats& b) {
    return a.values == b.values;
  }
};

} // namespace baton::protocol
