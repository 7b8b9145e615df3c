#include "protocol/trace_order.hpp"

#include "tests/protocol/trace_cluster.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

std::vector<std::uint32_t> ordered(const std::vector<trace_key>& keys) {
  return order_records(keys, cause_index(keys)).records;
}

} // namespace

TEST_CASE("the clock orders what nothing else does") {
  const std::vector<trace_key> keys = {{1, 0, 30, 0, 0}, {2, 0, 10, 1, 1}, {3, 0, 20, 1, 2}};
  CHECK(ordered(keys) == std::vector<std::uint32_t>{1, 2, 0});
}

TEST_CASE("a message comes after its cause, an actor's records stay in order, whatever the clock") {
  // 2 was caused by 1 on a node whose clock is ahead; actor 5 handles 3 before 4.
  const std::vector<trace_key> keys
    = {{1, 0, 100, 0, 0}, {2, 1, 50, 1, 1}, {3, 0, 80, 1, 5}, {4, 0, 70, 1, 5}};
  CHECK(ordered(keys) == std::vector<std::uint32_t>{2, 3, 0, 1});
}

TEST_CASE("of several recipients of one message the last that began before is the cause") {
  const std::vector<trace_key> keys
    = {{1, 0, 10, 0, 0}, {1, 0, 20, 0, 1}, {1, 0, 40, 0, 2}, {2, 1, 30, 0, 3}};
  CHECK(cause_index(keys).cause_of(3) == std::size_t{1});
  CHECK_FALSE(cause_index(keys).cause_of(0).has_value());
}

TEST_CASE("records that are caused by their own future are counted and kept") {
  const std::vector<trace_key> keys = {{1, 2, 10, 0, 0}, {2, 0, 20, 0, 0}, {3, 0, 5, 0, 1}};
  const auto order = order_records(keys, cause_index(keys));
  CHECK(order.contradictions == 2);
  CHECK(order.records == std::vector<std::uint32_t>{2, 0, 1});
}

TEST_CASE("shuffled sections come back in the order in which they happened") {
  memory_trace trace = record_hand_offs({});
  std::vector<std::size_t> by_section(trace.records.size());
  for (std::size_t i = 0; i < by_section.size(); ++i)
    by_section[i] = i;
  std::stable_sort(by_section.begin(), by_section.end(), [&](std::size_t a, std::size_t b) {
    return trace.section_of[a] < trace.section_of[b];
  });
  std::vector<trace_key> keys;
  for (const std::size_t i : by_section)
    keys.push_back(trace.keys()[i]);
  std::size_t next = 0;
  for (const std::uint32_t i : ordered(keys))
    CHECK(by_section[i] == next++);
}
