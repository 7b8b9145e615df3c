#include "protocol/coverage.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace baton::protocol;

TEST_CASE("1,024 notices are not 512 blocks on two ranks") {
  std::array<coverage, 2> ranks{coverage(512), coverage(512)};
  for (std::uint32_t notice = 0; notice < 1'024; ++notice) {
    const mark_result expected = notice < 511 ? mark_result::added : mark_result::duplicate;
    CHECK(ranks[0].mark(notice % 511) == expected);
  }
  CHECK(ranks[0].missing() == 1);
  CHECK(ranks[1].missing() == 512);
  CHECK(ranks[0].mark(511) == mark_result::added);
  CHECK(ranks[0].complete());
  CHECK_FALSE(ranks[1].complete());
}

TEST_CASE("a duplicate adds nothing") {
  coverage c(2);
  CHECK(c.mark(1) == mark_result::added);
  const coverage before = c;
  CHECK(c.mark(1) == mark_result::duplicate);
  CHECK(c == before);
  CHECK(c.missing() == 1);
}

TEST_CASE("a piece out of range is refused and changes nothing, before and after completion") {
  coverage c(1);
  const coverage before = c;
  CHECK(c.mark(1) == mark_result::out_of_range);
  CHECK(c == before);
  CHECK(c.mark(0) == mark_result::added);
  CHECK(c.mark(1) == mark_result::out_of_range);
}

TEST_CASE("after completion every further mark is refused") {
  coverage c(1);
  CHECK(c.mark(0) == mark_result::added);
  CHECK(c.complete());
  CHECK(c.mark(0) == mark_result::refused);
  CHECK(c.complete());
}

TEST_CASE("an empty set is complete from the start") { CHECK(coverage(0).complete()); }

TEST_CASE("coverages of the same marks are equal, whatever the order") {
  coverage a(3), b(3);
  a.mark(0);
  a.mark(2);
  b.mark(2);
  CHECK(a != b);
  b.mark(0);
  CHECK(a == b);
  CHECK(coverage(2) != coverage(3));
}
