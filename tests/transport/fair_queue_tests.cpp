#include "transport/fair_queue.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <string>

using namespace baton;
using transport::fair_queue;

namespace {

constexpr std::uint64_t head_start = fair_queue<char>::head_start_bytes;

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

TEST_CASE("fair queue: a short lane that comes late passes a long one") {
  fair_queue<char> queue;
  push(queue, 1, "aaaaaaaaaaaaaaaaaaaaaaaa");
  CHECK(served(queue, 16, head_start / 8) == "aaaaaaaaaaaaaaaa");
  push(queue, 2, "bbbb");
  CHECK(served(queue, 6, head_start / 8) == "bbbbaa");
}

TEST_CASE("fair queue: beyond its head start a lane shares equally, by bytes and not by turns") {
  fair_queue<char> queue;
  push(queue, 1, "aaaaaaaaaaaaaaaaaa");
  push(queue, 2, "bbbbbb");
  std::uint64_t bytes[2] = {0, 0};
  for (int turn = 0; turn < 16; ++turn) {
    const bool large = queue.front() == 'b';
    bytes[large ? 1 : 0] += large ? 30 : 10;
    queue.serve(large ? 30 : 10, true);
  }
  constexpr std::uint64_t two_turns = 60; // one by bytes, and one of the patient ones
  CHECK(bytes[0] + two_turns >= bytes[1]);
  CHECK(bytes[1] + two_turns >= bytes[0]);
}

TEST_CASE("fair queue: short lanes that keep coming do not keep a long one waiting for ever") {
  fair_queue<char> queue;
  push(queue, 1, "aaaa");
  CHECK(served(queue, 1, 100 * head_start) == "a");
  std::string order;
  for (std::uint64_t next = 2; next < 34; ++next) {
    push(queue, next, "b");
    order += served(queue, 1, 10);
  }
  CHECK(std::count(order.begin(), order.end(), 'a') == 3);
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

TEST_CASE("fair queue: several of one lane are served as one turn") {
  fair_queue<char> queue;
  push(queue, 1, "abcd");
  push(queue, 2, "x");
  CHECK(queue.front_line().size() == 4);
  queue.serve(30, 3);
  CHECK(queue.size() == 2);
  CHECK(queue.front_line().size() == 1);
  CHECK(served(queue, 2, 10) == "xd");
  CHECK(queue.empty());
}

TEST_CASE("fair queue: a lane that may not go is passed by, and is first again when it may") {
  fair_queue<char> queue;
  push(queue, 1, "ab");
  push(queue, 2, "cd");
  const auto not_a = [](char item, std::uint64_t) { return item != 'a'; };
  REQUIRE(queue.choose(not_a));
  CHECK(queue.front() == 'c');
  push(queue, 3, "e");
  CHECK(queue.front() == 'c'); // it keeps its turn
  queue.serve(10, 1);
  CHECK(queue.front() == 'a');
  CHECK_FALSE(queue.choose([](char, std::uint64_t) { return false; }));
  CHECK(queue.front() == 'a');
  REQUIRE(queue.choose(not_a));
  CHECK(queue.take_if([](char item) { return item == 'e' || item == 'd'; }).size() == 2);
  CHECK(served(queue, 2, 10) == "ab");
}

TEST_CASE("fair queue: a lane is judged by what it has had since it came") {
  fair_queue<char> queue;
  push(queue, 1, "aaa");
  CHECK(served(queue, 2, 3 * head_start) == "aa");
  push(queue, 2, "b");
  std::map<char, std::uint64_t> had;
  CHECK_FALSE(queue.choose([&](char item, std::uint64_t bytes) {
    had[item] = bytes;
    return false;
  }));
  CHECK(had == std::map<char, std::uint64_t>{{'a', 6 * head_start}, {'b', 0}});
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
