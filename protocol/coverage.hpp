// What has landed of one lane: a set of pieces, never a count. A lane is one pair of ranks and a
// piece is one block with all its planes and layers, so the lanes of a reservation together are the
// set of (rank, plane, layer, block): 1,024 notices are not 512 blocks on two ranks.
#pragma once

#include "protocol/fields.hpp"

#include <cstdint>
#include <vector>

namespace baton::protocol {

/// What a mark did. `duplicate` and the refusals change nothing.
enum class mark_result : std::uint8_t {
  added,
  duplicate,
  out_of_range,
  refused, ///< the set was complete before
};

class coverage {
public:
  coverage() = default;
  explicit coverage(std::uint32_t pieces) : missing_(pieces), landed_(pieces, false) {}

  mark_result mark(std::uint32_t piece);

  /// Every piece has landed. An empty set is complete from the start.
  bool complete() const { return missing_ == 0; }
  /// Pieces that have not landed.
  std::uint32_t missing() const { return missing_; }

  static constexpr const char* type = "coverage";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("missing", s.missing_), field("landed", s.landed_));
  }

private:
  std::uint32_t missing_ = 0;
  std::vector<bool> landed_;
};

} // namespace baton::protocol
