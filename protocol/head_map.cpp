#include "protocol/head_map.hpp"

#include "protocol/assert.hpp"

#include <algorithm>

namespace baton::protocol {

namespace {

constexpr std::uint32_t planes = 2; // k and v

failure check_degree(const char* side, std::uint32_t kv_heads, std::uint32_t degree) {
  if (degree != 0 && kv_heads != 0 && kv_heads % degree == 0)
    return {};
  return {reason::bad_input, std::string(side) + ": " + std::to_string(kv_heads)
                               + " KV heads cannot be divided among " + std::to_string(degree)
                               + " ranks"};
}

} // namespace

head_range heads_of_rank(std::uint32_t kv_heads, std::uint32_t degree, rank_id rank) {
  BATON_ASSERT(degree > 0);
  BATON_ASSERT(rank.value < degree);
  return {rank.value * kv_heads / degree, (rank.value + 1U) * kv_heads / degree};
}

outcome<std::vector<lane_plan>> plan_lanes(std::uint32_t kv_heads, std::uint32_t source_degree,
                                           std::uint32_t destination_degree) {
  if (failure f = check_degree("source_degree", kv_heads, source_degree))
    return f;
  if (failure f = check_degree("destination_degree", kv_heads, destination_degree))
    return f;
  std::vector<lane_plan> lanes;
  for (std::uint32_t d = 0; d < destination_degree; ++d)
    for (std::uint32_t s = 0; s < source_degree; ++s) {
      const rank_id source{static_cast<std::uint16_t>(s)};
      const rank_id destination{static_cast<std::uint16_t>(d)};
      const head_range from = heads_of_rank(kv_heads, source_degree, source);
      const head_range to = heads_of_rank(kv_heads, destination_degree, destination);
      const head_range shared{std::max(from.begin, to.begin), std::min(from.end, to.end)};
      if (shared.begin < shared.end)
        lanes.push_back({source, destination, shared});
    }
  return lanes;
}

block_slice slice_of(const block_shape& shape, std::uint32_t degree, rank_id rank,
                     head_range heads) {
  const head_range own = heads_of_rank(shape.kv_heads, degree, rank);
  BATON_ASSERT(own.begin <= heads.begin);
  BATON_ASSERT(heads.begin < heads.end);
  BATON_ASSERT(heads.end <= own.end);
  const std::uint64_t head_bytes
    = std::uint64_t{shape.block_tokens} * shape.head_dim * shape.element_bytes;
  const std::uint64_t plane_bytes = (own.end - own.begin) * head_bytes;
  const std::uint32_t runs = shape.layers * planes;
  if (heads == own)
    return {0, plane_bytes * runs, plane_bytes * runs, 1};
  return {(heads.begin - own.begin) * head_bytes, (heads.end - heads.begin) * head_bytes,
          plane_bytes, runs};
}

} // namespace baton::protocol
