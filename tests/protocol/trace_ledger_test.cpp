#include "protocol/trace_ledger.hpp"

#include "tests/protocol/trace_cluster.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

using c = block_condition;

const pool_ledger& pool_of(const trace_ledgers& all, const char* group) {
  for (const auto& pool : all.pools)
    if (pool.formed.group.value == group)
      return pool;
  FAIL("no such pool");
  return all.pools.front();
}

std::vector<c> conditions(const std::vector<block_span>& spans) {
  std::vector<c> all;
  for (const auto& s : spans)
    all.push_back(s.condition);
  return all;
}

} // namespace

TEST_CASE("a decode block is leased, live, quarantined and free again, for each request") {
  const memory_trace trace = record_hand_offs({});
  const trace_ledgers all = read_ledgers(trace);
  CHECK(all.unreadable == 0);
  const pool_ledger& pool = pool_of(all, "D0");
  REQUIRE(pool.tenures.size() == 2); // one request after the other
  CHECK(pool.tenures[0].kind == block_tenure::side::destination);
  CHECK(pool.tenures[0].granted_ns < *pool.tenures[0].live_ns);
  CHECK(*pool.tenures[0].live_ns < *pool.tenures[0].quarantined_ns);
  CHECK(*pool.tenures[0].quarantined_ns < *pool.tenures[0].reclaimed_ns);

  const auto spans = spans_by_block(pool, all.end_ns);
  REQUIRE(spans.size() == pool.formed.blocks);
  const block_ref first = pool.tenures[0].blocks.front();
  const auto& mine = spans[first.block.value];
  CHECK(conditions(mine) == std::vector<c>{c::free, c::leased, c::live, c::quarantined, c::free,
                                           c::leased, c::live, c::quarantined, c::free});
  CHECK(mine.front().from_ns == pool.formed_ns);
  CHECK(mine.back().to_ns == all.end_ns);
  for (std::size_t i = 1; i < mine.size(); ++i)
    CHECK(mine[i].from_ns == mine[i - 1].to_ns);
  CHECK(pool.tenures[1].blocks.front().gen.value == first.gen.value + 1);
}

TEST_CASE("a prefill pool's blocks are never live") {
  const memory_trace trace = record_hand_offs({});
  const trace_ledgers all = read_ledgers(trace);
  const pool_ledger& pool = pool_of(all, "P0");
  REQUIRE_FALSE(pool.tenures.empty());
  for (const auto& t : pool.tenures) {
    CHECK(t.kind == block_tenure::side::source);
    CHECK_FALSE(t.live_ns.has_value());
    CHECK(t.reclaimed_ns.has_value());
  }
}

TEST_CASE("at each instant every block of a pool is counted once, and in the end all are free") {
  const memory_trace trace = record_hand_offs({});
  for (const auto& pool : read_ledgers(trace).pools) {
    const auto counts = counts_of(pool);
    CHECK(counts.size() > 3);
    for (const auto& count : counts) {
      std::int64_t sum = 0;
      for (const std::int64_t blocks : count.blocks) {
        CHECK(blocks >= 0);
        sum += blocks;
      }
      CHECK(sum == pool.formed.blocks);
    }
    CHECK(counts.back().blocks[0] == pool.formed.blocks);
  }
}

TEST_CASE("what was not reclaimed is held until the trace's end") {
  memory_trace trace = record_hand_offs({1});
  trace.erase(trace.find("pool", "reclaim_blocks"));
  trace.erase(trace.find("pool", "reclaim_blocks"));
  const trace_ledgers all = read_ledgers(trace);
  const pool_ledger& pool = pool_of(all, "D0");
  const auto spans = spans_by_block(pool, all.end_ns);
  const auto& mine = spans[pool.tenures[0].blocks.front().block.value];
  CHECK(mine.back().condition == c::quarantined);
  CHECK(mine.back().tenure == std::size_t{0});
}
