#include "gpu/cpu/collective.hpp"
#include "tests/gpu/support.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <sys/wait.h>
#include <unistd.h>

using namespace baton::gpu;
using namespace baton::gpu::test;
using baton::protocol::failure;
using baton::protocol::reason;

namespace {

const collective_limits patient{60'000, 1ULL << 16, 200};
const schedule here{1, 2, 3, 0};

std::vector<std::unique_ptr<collective>> group_of(std::uint32_t ranks,
                                                  const collective_limits& limits = patient) {
  return std::move(make_local_group(ranks, limits).value());
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("two ranks' figures add up on both, and scatter one to each") {
  const auto group = group_of(2);
  const std::vector<std::vector<float>> in{{1, 2}, {10, 20}};
  std::vector<std::vector<float>> sum(2, std::vector<float>(2));
  std::vector<std::vector<float>> part(2, std::vector<float>(1));
  on_ranks(2, [&](std::uint32_t r) {
    CHECK_FALSE(group[r]->all_reduce_sum(here, in[r].data(), 2, sum[r].data()));
    CHECK_FALSE(group[r]->reduce_scatter(here, in[r].data(), 1, part[r].data()));
  });
  CHECK(sum[0] == std::vector<float>{11, 22});
  CHECK(sum[1] == std::vector<float>{11, 22});
  CHECK(part[0] == std::vector<float>{11});
  CHECK(part[1] == std::vector<float>{22});
}

TEST_CASE("a gather lays the ranks side by side, also in parts smaller than the operation") {
  for (const std::uint32_t ranks : {1, 2, 3, 4}) {
    collective_limits limits = patient;
    limits.slot_bytes = 64; // 16 floats
    const auto group = group_of(ranks, limits);
    const std::size_t count = 37;
    std::vector<float> expected;
    for (std::uint32_t r = 0; r < ranks; ++r)
      for (std::size_t i = 0; i < count; ++i)
        expected.push_back(static_cast<float>(r * 1000 + i));
    on_ranks(ranks, [&](std::uint32_t r) {
      std::vector<float> all(ranks * count);
      for (int round = 0; round < 50; ++round) {
        const auto f = group[r]->all_gather(here, expected.data() + r * count, count, all.data());
        CHECK_FALSE(f);
        CHECK(all == expected);
      }
    });
  }
}

TEST_CASE("four ranks add as (r0 + r1) + (r2 + r3), on every rank and in every operation") {
  // Values whose sum depends on the order.
  const std::vector<float> values{1e8F, 1.0F, -1e8F, 1.0F};
  const float expected = (values[0] + values[1]) + (values[2] + values[3]);
  const float chained = ((values[0] + values[1]) + values[2]) + values[3];
  REQUIRE(expected != chained);
  const auto group = group_of(4);
  on_ranks(4, [&](std::uint32_t r) {
    float sum = values[r];
    CHECK_FALSE(group[r]->all_reduce_sum(here, &sum, 1, &sum)); // in place
    CHECK(sum == expected);
    const std::vector<float> in(4, values[r]);
    float part = 0.0F;
    CHECK_FALSE(group[r]->reduce_scatter(here, in.data(), 1, &part));
    CHECK(part == expected);
  });
}

TEST_CASE("ranks in different layers are told both schedules and combine nothing") {
  const auto group = group_of(2);
  std::vector<failure> failures(2);
  std::vector<float> sums{-1.0F, -1.0F};
  on_ranks(2, [&](std::uint32_t r) {
    const float mine = 5.0F;
    failures[r] = group[r]->all_reduce_sum({1, 2, 3 + r, 0}, &mine, 1, &sums[r]);
  });
  for (const auto& f : failures) {
    CHECK(f.why == reason::group_poisoned);
    CHECK(contains(f.text, "epoch 1 step 2 layer 3 phase attention_out op all_reduce_sum f32 x 1"));
    CHECK(contains(f.text, "epoch 1 step 2 layer 4 phase attention_out op all_reduce_sum f32 x 1"));
  }
  CHECK(failures[0].text == failures[1].text);
  CHECK(sums == std::vector<float>{-1.0F, -1.0F});
  // It stays so.
  float x = 0.0F;
  CHECK(group[0]->all_reduce_sum(here, &x, 1, &x).why == reason::group_poisoned);
}

TEST_CASE("any other difference of schedule is noticed too") {
  const auto mismatch = [](auto first, auto second) {
    const auto group = group_of(2);
    std::vector<failure> failures(2);
    on_ranks(2, [&](std::uint32_t r) {
      failures[r] = r == 0 ? first(*group[r]) : second(*group[r]);
    });
    CHECK(failures[0].why == reason::group_poisoned);
    CHECK(failures[1].why == reason::group_poisoned);
    CHECK(contains(failures[0].text, "schedules differ"));
  };
  const auto reduce = [](schedule s, std::size_t count) {
    return [s, count](collective& c) {
      std::vector<float> x(count);
      return c.all_reduce_sum(s, x.data(), count, x.data());
    };
  };
  mismatch(reduce({1, 2, 3, 0}, 4), reduce({2, 2, 3, 0}, 4)); // epoch
  mismatch(reduce({1, 2, 3, 0}, 4), reduce({1, 9, 3, 0}, 4)); // step
  mismatch(reduce({1, 2, 3, 0}, 4), reduce({1, 2, 3, 1}, 4)); // phase
  mismatch(reduce({1, 2, 3, 0}, 4), reduce({1, 2, 3, 0}, 5)); // count
  mismatch(reduce({1, 2, 3, 0}, 4), [](collective& c) {       // operation
    std::vector<float> mine(4);
    std::vector<float> all(8);
    return c.all_gather({1, 2, 3, 0}, mine.data(), 4, all.data());
  });
}

TEST_CASE("poison wakes every waiter at once and keeps the first reason") {
  const auto group = group_of(4);
  std::vector<std::future<failure>> waiting;
  for (std::uint32_t r = 0; r < 3; ++r)
    waiting.push_back(std::async(std::launch::async, [&group, r] {
      float x = 1.0F;
      return group[r]->all_reduce_sum(here, &x, 1, &x);
    }));
  const auto begin = std::chrono::steady_clock::now();
  group[3]->poison("lease of the leader ended");
  group[3]->poison("another reason");
  for (auto& w : waiting) {
    const auto f = w.get();
    CHECK(f.why == reason::group_poisoned);
    CHECK(f.text == "lease of the leader ended");
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30)); // not the 60 s limit
}

TEST_CASE("a rank that never comes poisons the group at the limit, by name") {
  collective_limits limits = patient;
  limits.wait_ms = 50;
  const auto group = group_of(2, limits);
  float x = 1.0F;
  const auto f = group[0]->all_reduce_sum(here, &x, 1, &x);
  CHECK(f.why == reason::group_poisoned);
  CHECK(contains(f.text, "rank 1 did not arrive within 50 ms"));
  CHECK(contains(f.text, "layer 3"));
  CHECK(group[1]->all_reduce_sum(here, &x, 1, &x).text == f.text);
}

TEST_CASE("a rank that has left is not waited for") {
  auto group = group_of(2);
  group[1].reset();
  float x = 1.0F;
  const auto f = group[0]->all_reduce_sum(here, &x, 1, &x);
  CHECK(f.why == reason::group_poisoned);
  CHECK(contains(f.text, "rank 1 has left"));
}

TEST_CASE("processes meet in named memory, whose name is gone once all are in") {
  const std::string name = "/baton-meet-" + std::to_string(::getpid());
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    auto end = join_shared_group(name, 1, 2, patient);
    const std::vector<float> in{10, 20};
    std::vector<float> sum(2);
    const bool right = end.ok() && !end.value()->all_reduce_sum(here, in.data(), 2, sum.data())
                       && sum == std::vector<float>{11, 22};
    ::_exit(right ? 0 : 1);
  }
  auto end = join_shared_group(name, 0, 2, patient);
  REQUIRE(end.ok());
  CHECK_FALSE(std::filesystem::exists("/dev/shm" + name));
  const std::vector<float> in{1, 2};
  std::vector<float> sum(2);
  CHECK_FALSE(end.value()->all_reduce_sum(here, in.data(), 2, sum.data()));
  CHECK(sum == std::vector<float>{11, 22});
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("joining is bounded, leaves no name behind, and checks who comes") {
  collective_limits brief = patient;
  brief.wait_ms = 50;
  const std::string name = "/baton-alone-" + std::to_string(::getpid());
  CHECK(join_shared_group(name, 1, 2, brief).error().why == reason::peer_lost);
  CHECK(join_shared_group(name, 0, 2, brief).error().why == reason::peer_lost);
  CHECK_FALSE(std::filesystem::exists("/dev/shm" + name));

  CHECK(join_shared_group("no-slash", 0, 2, brief).error().why == reason::bad_input);
  CHECK(join_shared_group("/a/b", 0, 2, brief).error().why == reason::bad_input);
  CHECK(join_shared_group(name, 2, 2, brief).error().why == reason::out_of_range);

  auto first
    = std::async(std::launch::async, [&] { return join_shared_group(name, 0, 2, patient); });
  CHECK(join_shared_group(name, 1, 3, patient).error().why == reason::manifest_mismatch);
  auto second = join_shared_group(name, 1, 2, patient);
  CHECK(second.ok());
  CHECK(first.get().ok());
}
