#include "protocol/coverage.hpp"

#include "protocol/assert.hpp"

namespace baton::protocol {

namespace {
constexpr std::uint64_t word_bits = 64;
} // namespace

coverage::coverage(coverage_shape shape)
  : shape_(shape),
    missing_(std::uint64_t{shape.ranks} * shape.planes * shape.layers * shape.blocks),
    words_((missing_ + word_bits - 1) / word_bits, 0) {}

mark_result coverage::mark(std::uint32_t rank, std::uint32_t plane, std::uint32_t layer,
                           std::uint32_t block) {
  if (rank >= shape_.ranks || plane >= shape_.planes || layer >= shape_.layers
      || block >= shape_.blocks)
    return mark_result::out_of_range;
  if (complete())
    return mark_result::refused;
  const std::uint64_t element
    = first_of(rank, block) + std::uint64_t{layer} * shape_.planes + plane;
  return set(element) ? mark_result::added : mark_result::duplicate;
}

mark_result coverage::mark_block(std::uint32_t rank, std::uint32_t block) {
  if (rank >= shape_.ranks || block >= shape_.blocks)
    return mark_result::out_of_range;
  if (complete())
    return mark_result::refused;
  const std::uint64_t first = first_of(rank, block);
  bool any = false;
  for (std::uint64_t i = 0; i < std::uint64_t{shape_.layers} * shape_.planes; ++i)
    any = set(first + i) || any;
  return any ? mark_result::added : mark_result::duplicate;
}

std::uint64_t coverage::first_of(std::uint32_t rank, std::uint32_t block) const {
  return (std::uint64_t{rank} * shape_.blocks + block) * shape_.layers * shape_.planes;
}

bool coverage::set(std::uint64_t element) {
  std::uint64_t& word = words_[element / word_bits];
  const std::uint64_t bit = std::uint64_t{1} << (element % word_bits);
  if ((word & bit) != 0)
    return false;
  BATON_ASSERT(missing_ > 0);
  word |= bit;
  --missing_;
  return true;
}

} // namespace baton::protocol
