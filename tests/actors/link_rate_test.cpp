#include "actors/link_rate.hpp"

#include <doctest/doctest.h>

using namespace baton;
using namespace baton::actors;

namespace {

transport::endpoint::counters counted(std::uint64_t bytes, std::uint64_t moving_ns) {
  transport::endpoint::counters c;
  c.bytes_landed = bytes;
  c.moving_ns = moving_ns;
  return c;
}

constexpr std::uint64_t enough = rank_link_rate::bytes_of_a_measurement;

} // namespace

TEST_CASE("a rank's link is measured over the time in which bytes were moving, once enough have") {
  rank_link_rate rate;
  CHECK_FALSE(rate.look(counted(enough - 1, 1'000)));
  CHECK(rate.look(counted(enough, 1'000'000)) == enough * 1'000);
  CHECK_FALSE(rate.look(counted(enough + 1, 2'000'000)));
  CHECK(rate.look(counted(3 * enough, 5'000'000)) == enough * 500);
  CHECK_FALSE_MESSAGE(rate.look(counted(9 * enough, 5'000'000)), "eager bytes take no time of it");
}

TEST_CASE("a group is as fast as its slowest rank for each, and unknown before all have measured") {
  link_rate rate;
  CHECK(rate.bytes_per_s(2) == 0);
  rate.take({0}, 1'000);
  CHECK(rate.bytes_per_s(2) == 0);
  rate.take({1}, 600);
  CHECK(rate.bytes_per_s(2) == 1'200);
}

TEST_CASE("a link that has become slower is believed at once, one that is faster by half") {
  link_rate rate;
  rate.take({0}, 1'000);
  rate.take({0}, 200);
  CHECK(rate.bytes_per_s(1) == 200);
  rate.take({0}, 1'000);
  CHECK(rate.bytes_per_s(1) == 600);
}
