#include "protocol/batch.hpp"

#include "tests/protocol/hand_off_samples.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::protocol::rank_group;
using namespace baton::tests;

namespace {

prefill_job prompt(std::uint64_t sequence) {
  return {{{sequence}, sample_attempt(), sample_prompt(), {}, false}, 0};
}

decode_job generation_of(std::uint64_t sequence, std::uint32_t emitted) {
  decode_job job;
  job.asked.sequence = {sequence};
  job.asked.prompt = sample_prompt();
  job.emitted = emitted;
  job.last_token = {42};
  return job;
}

} // namespace

TEST_CASE("an idle batch plans nothing") {
  batch b;
  CHECK(plan_step(b, 1, 4).empty());
}

TEST_CASE("a prompt is cut into chunks and only its last chunk returns the resume state") {
  batch b;
  b.prefills = {prompt(1)};
  CHECK(plan_step(b, 1, 4)
        == std::vector<plan_slice>{{{1}, slice_kind::prefill, 0, 4, {}}});
  CHECK(plan_step(b, 2, 4)
        == std::vector<plan_slice>{{{1}, slice_kind::prefill, 4, 4, {}}});
  CHECK(b.leaving_ones.empty());
  CHECK(plan_step(b, 3, 4)
        == std::vector<plan_slice>{{{1}, slice_kind::last_prefill, 8, 1, {}}});
  CHECK(b.prefills.empty());
  CHECK(b.leaving_ones.at({1}).last_step == 3);
}

TEST_CASE("a chunk's budget passes to the next prompt, never beyond it") {
  batch b;
  b.prefills = {prompt(1), prompt(2)};
  CHECK(plan_step(b, 1, 12)
        == std::vector<plan_slice>{{{1}, slice_kind::last_prefill, 0, 9, {}},
                                   {{2}, slice_kind::prefill, 0, 3, {}}});
}

TEST_CASE("every decoding sequence takes part in each step, before any prompt") {
  batch b;
  b.prefills = {prompt(3)};
  b.decodes = {{{1}, generation_of(1, 0)}, {{2}, generation_of(2, 2)}};
  CHECK(plan_step(b, 5, 4)
        == std::vector<plan_slice>{{{1}, slice_kind::first_token, 9, 0, {}},
                                   {{2}, slice_kind::decode, 10, 1, {42}},
                                   {{3}, slice_kind::prefill, 0, 4, {}}});
  CHECK(b.last_step.at({1}) == 5);
  CHECK(b.last_step.at({3}) == 5);
}
