// Which bytes of a block go from which prefill rank to which decode rank.
//
// Each rank of a TP group holds one interval of the model's KV heads. A lane exists for each pair
// of ranks whose intervals meet; it carries the heads they share, for every layer and plane of a
// block. Lanes are keyed by (source rank, destination rank), never by one rank alone.
#pragma once

#include "protocol/ids.hpp"
#include "protocol/outcome.hpp"

#include <cstdint>
#include <vector>

namespace baton::protocol {

/// Half-open interval of global KV head numbers.
struct head_range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  static constexpr const char* type = "head_range";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("begin", s.begin), field("end", s.end));
  }
};

/// Heads of one rank: [rank * kv_heads / degree, (rank + 1) * kv_heads / degree).
head_range heads_of_rank(std::uint32_t kv_heads, std::uint32_t degree, rank_id rank);

struct lane_plan {
  rank_id source;
  rank_id destination;
  head_range heads; ///< global heads that this lane carries

  static constexpr const char* type = "lane_plan";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("source", s.source), field("destination", s.destination),
                           field("heads", s.heads));
  }
};

/// All lanes from a group of `source_degree` ranks to one of `destination_degree`, ordered by
/// (destination, source). Both degrees must divide kv_heads: bad_input otherwise.
outcome<std::vector<lane_plan>> plan_lanes(std::uint32_t kv_heads, std::uint32_t source_degree,
                                           std::uint32_t destination_degree);

/// Where a lane's heads lie inside one block of one rank: `segments` runs (one per layer and plane)
/// of `segment_bytes`, `stride` bytes apart, the first at `offset`. One segment when it is the
/// whole block. Layout of a block: [layer][k|v][kv_head][token][head_dim].
struct block_slice {
  std::uint64_t offset = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t stride = 0;
  std::uint32_t segments = 1;
};

struct block_shape {
  std::uint32_t layers = 0;
  std::uint32_t kv_heads = 0; ///< of the whole model
  std::uint32_t head_dim = 0;
  std::uint32_t block_tokens = 0;
  std::uint32_t element_bytes = 0;
};

/// The slice of `heads` in a block of `rank` in a group of `degree`. `heads` must lie in the rank's
/// own interval.
block_slice slice_of(const block_shape& shape, std::uint32_t degree, rank_id rank,
                     head_range heads);

} // namespace baton::protocol
