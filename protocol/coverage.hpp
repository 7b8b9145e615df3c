// What has arrived of a transfer: a set of (rank, plane, layer, block), never a count. 1,024
// notices are not 512 blocks on two ranks.
#pragma once

#include "protocol/fields.hpp"

#include <cstdint>
#include <vector>

namespace baton::protocol {

struct coverage_shape {
  std::uint32_t ranks = 0;
  std::uint32_t planes = 0; ///< 2: keys and values
  std::uint32_t layers = 0;
  std::uint32_t blocks = 0; ///< logical blocks to transfer, per rank

  static constexpr const char* type = "coverage_shape";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("ranks", s.ranks), field("planes", s.planes),
                           field("layers", s.layers), field("blocks", s.blocks));
  }
};

/// What a mark did. `duplicate` and the refusals change nothing.
enum class mark_result : std::uint8_t {
  added,
  duplicate,
  out_of_range,
  refused, ///< the set was complete before
};

class coverage {
public:
  explicit coverage(coverage_shape shape);

  mark_result mark(std::uint32_t rank, std::uint32_t plane, std::uint32_t layer,
                   std::uint32_t block);

  /// Marks every plane and layer of one rank's block; `added` when any of them was missing.
  mark_result mark_block(std::uint32_t rank, std::uint32_t block);

  /// Every element of the shape has arrived. An empty shape is complete from the start.
  bool complete() const { return missing_ == 0; }

  /// Elements that have not arrived.
  std::uint64_t missing() const { return missing_; }

  const coverage_shape& shape() const { return shape_; }

  friend bool operator==(const coverage& a, const coverage& b) {
    return a.shape_ == b.shape_ && a.words_ == b.words_;
  }
  friend bool operator!=(const coverage& a, const coverage& b) { return !(a == b); }

private:
  /// Elements of one block on one rank lie together: [rank][block][layer][plane].
  std::uint64_t first_of(std::uint32_t rank, std::uint32_t block) const;
  bool set(std::uint64_t element);

  coverage_shape shape_;
  std::uint64_t missing_;
  std::vector<std::uint64_t> words_;
};

} // namespace baton::protocol
