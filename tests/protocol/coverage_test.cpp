#include "protocol/coverage.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;

namespace {
constexpr coverage_shape teaching{2, 2, 80, 512};
}

TEST_CASE("1,024 notices are not 512 blocks on two ranks") {
  coverage c(teaching);
  for (int notice = 0; notice < 1024; ++notice) {
    const auto block = static_cast<std::uint32_t>(notice % 512);
    CHECK(c.mark_block(0, block) == (notice < 512 ? mark_result::added : mark_result::duplicate));
  }
  CHECK_FALSE(c.complete());
  CHECK(c.missing() == 512ULL * 2 * 80);
  for (std::uint32_t block = 0; block < 512; ++block)
    CHECK(c.mark_block(1, block) == mark_result::added);
  CHECK(c.complete());
  CHECK(c.missing() == 0);
}

TEST_CASE("one missing layer of one plane of one block keeps it incomplete") {
  coverage c({2, 2, 3, 4});
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    for (std::uint32_t plane = 0; plane < 2; ++plane)
      for (std::uint32_t layer = 0; layer < 3; ++layer)
        for (std::uint32_t block = 0; block < 4; ++block) {
          const bool left_out = rank == 1 && plane == 1 && layer == 2 && block == 3;
          if (!left_out)
            CHECK(c.mark(rank, plane, layer, block) == mark_result::added);
        }
  CHECK(c.missing() == 1);
  CHECK_FALSE(c.complete());
  CHECK(c.mark_block(1, 3) == mark_result::added);
  CHECK(c.complete());
}

TEST_CASE("a duplicate adds nothing") {
  coverage c({1, 2, 2, 2});
  CHECK(c.mark(0, 1, 1, 1) == mark_result::added);
  const coverage before = c;
  CHECK(c.mark(0, 1, 1, 1) == mark_result::duplicate);
  CHECK(c == before);
}

TEST_CASE("each coordinate out of range is refused and changes nothing") {
  coverage c({2, 2, 3, 4});
  const coverage before = c;
  CHECK(c.mark(2, 0, 0, 0) == mark_result::out_of_range);
  CHECK(c.mark(0, 2, 0, 0) == mark_result::out_of_range);
  CHECK(c.mark(0, 0, 3, 0) == mark_result::out_of_range);
  CHECK(c.mark(0, 0, 0, 4) == mark_result::out_of_range);
  CHECK(c.mark_block(2, 0) == mark_result::out_of_range);
  CHECK(c.mark_block(0, 4) == mark_result::out_of_range);
  CHECK(c == before);
}

TEST_CASE("after completion every further mark is refused") {
  coverage c({1, 1, 1, 1});
  CHECK(c.mark_block(0, 0) == mark_result::added);
  CHECK(c.complete());
  CHECK(c.mark_block(0, 0) == mark_result::refused);
  CHECK(c.mark(0, 0, 0, 0) == mark_result::refused);
  CHECK(c.mark(0, 0, 0, 1) == mark_result::out_of_range);
}

TEST_CASE("an empty range is complete from the start") {
  CHECK(coverage({2, 2, 80, 0}).complete());
}

TEST_CASE("coverages of the same marks are equal, whatever the order") {
  coverage a({2, 2, 2, 2}), b({2, 2, 2, 2});
  a.mark_block(0, 1);
  a.mark_block(1, 0);
  b.mark_block(1, 0);
  CHECK(a != b);
  b.mark_block(0, 1);
  CHECK(a == b);
  CHECK(coverage({1, 1, 1, 0}) != coverage({1, 1, 2, 0}));
}
