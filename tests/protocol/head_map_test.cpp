#include "protocol/head_map.hpp"

#include "protocol/cost_model.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace baton::protocol;

namespace {

constexpr block_shape teaching{80, 8, 128, 16, 2};
const std::vector<std::uint32_t> degrees{1, 2, 4, 8};

std::uint64_t block_bytes(std::uint32_t degree) {
  return bytes_per_token(teaching) * teaching.block_tokens / degree;
}

std::vector<lane_plan> lanes_between(std::uint32_t source_degree,
                                     std::uint32_t destination_degree) {
  const auto lanes = plan_lanes(8, source_degree, destination_degree);
  REQUIRE(lanes);
  return lanes.value();
}

/// How often each byte of one rank's block is named by the given slices.
void count_bytes(const block_slice& slice, std::vector<std::uint8_t>& times) {
  for (std::uint32_t i = 0; i < slice.segments; ++i)
    for (std::uint64_t b = 0; b < slice.segment_bytes; ++b)
      ++times.at(slice.offset + i * slice.stride + b);
}

} // namespace

TEST_CASE("every head travels exactly once between any two degrees") {
  for (const std::uint32_t p : degrees)
    for (const std::uint32_t d : degrees) {
      CAPTURE(p);
      CAPTURE(d);
      const auto lanes = lanes_between(p, d);
      std::vector<int> seen(8, 0);
      for (const lane_plan& lane : lanes) {
        const head_range from = heads_of_rank(8, p, lane.source);
        const head_range to = heads_of_rank(8, d, lane.destination);
        for (std::uint32_t h = lane.heads.begin; h < lane.heads.end; ++h) {
          ++seen[h];
          CHECK((from.begin <= h && h < from.end));
          CHECK((to.begin <= h && h < to.end));
        }
      }
      CHECK(seen == std::vector<int>(8, 1));
      CHECK(lanes.size() == std::max(p, d));
    }
}

TEST_CASE("every byte of every destination block is written once, from as many source bytes") {
  // A small shape, so that bytes can be counted one by one.
  constexpr block_shape small{3, 8, 4, 2, 2};
  const std::uint64_t model_block = bytes_per_token(small) * small.block_tokens;
  for (const std::uint32_t p : degrees)
    for (const std::uint32_t d : degrees) {
      CAPTURE(p);
      CAPTURE(d);
      std::vector<std::vector<std::uint8_t>> read(p), written(d);
      for (auto& times : read)
        times.assign(model_block / p, 0);
      for (auto& times : written)
        times.assign(model_block / d, 0);
      for (const lane_plan& lane : lanes_between(p, d)) {
        const block_slice from = slice_of(small, p, lane.source, lane.heads);
        const block_slice to = slice_of(small, d, lane.destination, lane.heads);
        CHECK(from.segments * from.segment_bytes == to.segments * to.segment_bytes);
        count_bytes(from, read[lane.source.value]);
        count_bytes(to, written[lane.destination.value]);
      }
      for (const auto& times : read)
        CHECK(times == std::vector<std::uint8_t>(model_block / p, 1));
      for (const auto& times : written)
        CHECK(times == std::vector<std::uint8_t>(model_block / d, 1));
    }
}

TEST_CASE("equal degrees move whole blocks in one piece of the teaching size") {
  for (const lane_plan& lane : lanes_between(2, 2)) {
    CHECK(lane.source == lane.destination);
    const block_slice slice = slice_of(teaching, 2, lane.source, lane.heads);
    CHECK(slice.segments == 1);
    CHECK(slice.offset == 0);
    CHECK(slice.segment_bytes == 2'621'440); // 2.5 MiB
    CHECK(slice.segment_bytes == block_bytes(2));
  }
}

TEST_CASE("half of a rank's heads is a strided slice, one run per layer and plane") {
  const block_slice slice = slice_of(teaching, 1, {0}, {4, 8});
  CHECK(slice.segments == 160);
  CHECK(slice.segment_bytes == 4ULL * 16 * 128 * 2);
  CHECK(slice.stride == 8ULL * 16 * 128 * 2);
  CHECK(slice.offset == 4ULL * 16 * 128 * 2);
  CHECK(slice.segments * slice.segment_bytes == block_bytes(2));
}

TEST_CASE("lanes are ordered by destination, then source") {
  const auto lanes = lanes_between(4, 2);
  REQUIRE(lanes.size() == 4);
  CHECK((lanes[0] == lane_plan{{0}, {0}, {0, 2}}));
  CHECK((lanes[1] == lane_plan{{1}, {0}, {2, 4}}));
  CHECK((lanes[2] == lane_plan{{2}, {1}, {4, 6}}));
  CHECK((lanes[3] == lane_plan{{3}, {1}, {6, 8}}));
}

TEST_CASE("degrees that do not divide the heads are refused by side") {
  CHECK(plan_lanes(6, 4, 2).error().text
        == "source_degree: 6 KV heads cannot be divided among 4 ranks");
  CHECK(plan_lanes(6, 2, 4).error().text
        == "destination_degree: 6 KV heads cannot be divided among 4 ranks");
  CHECK(plan_lanes(8, 0, 2).error().why == reason::bad_input);
  CHECK(plan_lanes(0, 1, 1).error().why == reason::bad_input);
}
