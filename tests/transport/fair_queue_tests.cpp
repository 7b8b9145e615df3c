#include "transport/fair_queue.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace baton;
using transport::fair_queue;

namespace {

protocol::lane_id lane(std::uint64_t number) {
  protocol::lane_id id;
  id.reservation = {{1, 1}, number};
  return id;
}

/// Serves `count` items of `bytes` each, and says whose they were.
std::string served(fair_queue<char>& queue, std::size_t count, std::uint64_t bytes) {
  std::string order;
  for (; count > 0; --count) {
    order += queue.front();
    queue.serve(bytes, true);
  }
  return order;
}

void push(fair_queue<char>& queue, std::uint64_t of_lane, const std::string& items) {
  for (const char item : items)
    queue.push(lane(of_lane), item);
}

} // namespace

TEST_CASE("fair queue: one lane's work keeps its order") {
  fair_queue<char> queue;
  push(queue, 1, "abcd");
  CHECK(queue.size() == 4);
  CHECK(served(queue, 4, 10) == "abcd");
  CHECK(queue.empty());
}

TEST_CASE("fair queue: a lane that comes late does not wait behind a long one") {
  fair_queue<char> queue;
  push(queue, 1, "aaaaaaaa");
  CHECK(served(queue, 3, 10) == "aaa");
  push(queue, 2, "bb");
  CHECK(served(queue, 7, 10) == "babaaaa");
}

TEST_CASE("fair queue: lanes get equally many bytes, not equally many turns") {
  fair_queue<char> queue;
  push(queue, 1, "aaaaaaaaaaaa");
  push(queue, 2, "bbbb");
  std::string order;
  while (!queue.empty()) {
    const bool large = queue.front() == 'b';
    order += queue.front();
    queue.serve(large ? 30 : 10, true);
  }
  CHECK(order == "abaaabaaabaaabaa");
}

TEST_CASE("fair queue: a lane that was away neither makes up for it nor pays for what it had") {
  fair_queue<char> queue;
  push(queue, 2, "b");
  CHECK(served(queue, 1, 1000) == "b");
  push(queue, 1, "aaaaaa");
  CHECK(served(queue, 2, 10) == "aa");
  push(queue, 2, "bbb");
  CHECK(served(queue, 7, 10) == "bababaa");
}

TEST_CASE("fair queue: an item that is served in parts stays its lane's oldest") {
  fair_queue<char> queue;
  push(queue, 1, "ab");
  push(queue, 2, "c");
  queue.serve(10, false);
  CHECK(queue.front() == 'c');
  queue.serve(20, true);
  CHECK(queue.front() == 'a');
  queue.serve(10, true);
  CHECK(queue.front() == 'b');
}

TEST_CASE("fair queue: what is taken out has no turn any more") {
  fair_queue<char> queue;
  push(queue, 1, "aXa");
  push(queue, 2, "X");
  const auto taken = queue.take_if([](char item) { return item == 'X'; });
  CHECK(taken.size() == 2);
  CHECK(queue.size() == 2);
  CHECK(served(queue, 2, 10) == "aa");
  CHECK(queue.take_all().empty());
}
