#include "protocol/cost_model.hpp"

#include <cmath>
#include <doctest/doctest.h>

using namespace baton::protocol;

namespace {

constexpr block_shape teaching{80, 8, 128, 16, 2};
constexpr std::uint64_t gib = 1024ULL * 1024 * 1024;

double one_decimal(double value) { return std::round(value * 10) / 10; }

handoff_timeline teaching_timeline(double transfer_begin_ms) {
  return {0, 310, transfer_begin_ms, transfer_ms(2'684'354'560, 25e9), 28};
}

} // namespace

TEST_CASE("the teaching request costs what the teaching text says") {
  CHECK(bytes_per_token(teaching) == 327'680);
  CHECK(8192 * bytes_per_token(teaching) == 2'684'354'560);
  CHECK(reserved_bytes(teaching, 8192, 128) == 2'726'297'600);
  CHECK(reserved_bytes(teaching, 8193, 128) - reserved_bytes(teaching, 8192, 128)
        == 16 * bytes_per_token(teaching));
  CHECK(reserved_bytes(teaching, 0, 0) == 0);
  CHECK(8 * gib / reserved_bytes(teaching, 8192, 128) == 3);
  CHECK(blocks_for_tokens(8192, 16) == 512);
  CHECK(8192 * bytes_per_token(teaching) / 2 == 5 * gib / 4); // 1.25 GiB a rank
}

TEST_CASE("transfer times at the assumed rates") {
  CHECK(one_decimal(transfer_ms(2'684'354'560, 12.5e9)) == 214.7);
  CHECK(one_decimal(transfer_ms(2'684'354'560, 25e9)) == 107.4);
  CHECK(one_decimal(transfer_ms(2'684'354'560, 50e9)) == 53.7);
  CHECK(transfer_ms(0, 0) == 0.0);
  CHECK(std::isinf(transfer_ms(1, 0)));
}

TEST_CASE("first token: 445.4 ms serial, 375.4 ms overlapped, 400.4 ms behind a queue") {
  CHECK(one_decimal(first_token_ms(teaching_timeline(310))) == 445.4);
  CHECK(one_decimal(first_token_ms(teaching_timeline(240))) == 375.4);
  handoff_timeline queued = teaching_timeline(240);
  queued.queue_ms = 25;
  CHECK(one_decimal(first_token_ms(queued)) == 400.4);
  CHECK(one_decimal(active_union_ms(queued)) == 375.4);
}

TEST_CASE("a gap between prefill and transfer is not active time") {
  const handoff_timeline late = teaching_timeline(330);
  CHECK(first_token_ms(late) - active_union_ms(late) == doctest::Approx(20));
}

TEST_CASE("chunks overlap: the pipeline ends with its slower stage") {
  // 4 chunks; prefill 10 ms each, transfer 5 ms each: 40 + 5.
  const load_estimate compute_bound{0, 0.1, 100, 100e3, 0};
  CHECK(estimate_first_token_ms(compute_bound, 400, 2000) == doctest::Approx(45));
  // Transfer 20 ms each: 10 + 80.
  const load_estimate link_bound{0, 0.1, 100, 25e3, 0};
  CHECK(estimate_first_token_ms(link_bound, 400, 2000) == doctest::Approx(90));
  // No chunks: serial, as in the teaching case.
  const load_estimate serial{25, 310.0 / 8192, 0, 25e9, 28};
  CHECK(one_decimal(estimate_first_token_ms(serial, 8192, 2'684'354'560)) == 470.4);
}

TEST_CASE("a deadline that cannot be met is refused with every term") {
  const load_estimate load{25, 310.0 / 8192, 0, 25e9, 28};
  CHECK_FALSE(check_deadline(load, 8192, 2'684'354'560, 471));
  CHECK_FALSE(check_deadline(load, 8192, 2'684'354'560, 0));
  const failure refused = check_deadline(load, 8192, 2'684'354'560, 470);
  CHECK(refused.why == reason::deadline_infeasible);
  CHECK(refused.text
        == "first token needs 470.4 ms (queue 25.0, prefill 310.0, transfer 107.4, first step "
           "28.0), the deadline leaves 470 ms");
}

TEST_CASE("a lease follows bytes and rate within its bounds") {
  const lease_bounds bounds{200, 60'000};
  CHECK(lease_ms(2'684'354'560, 25'000'000'000, 310, bounds) == 1669); // 4 * (310 + 107.37)
  CHECK(lease_ms(1, 25'000'000'000, 0, bounds) == 200);
  CHECK(lease_ms(2'684'354'560, 1'000'000, 0, bounds) == 60'000);
  CHECK(lease_ms(1, 0, 0, bounds) == 60'000);
}
