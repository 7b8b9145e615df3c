// Against an independent implementation: logits computed in double precision, agreed on by three
// programs, for a trained model.
#include "tests/gpu/support.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace baton::gpu;
using namespace baton::gpu::test;

TEST_CASE("the trained model's greedy tokens and logits equal the golden ones") {
  const auto source = load_if_present(stories_folder);
  if (!source) {
    MESSAGE("stories260K is not at hand");
    return;
  }
  const std::string folder = std::string(BATON_SHARED_DATA) + "/models/stories260K";
  const auto ids = read_binary<std::int32_t>(folder + "/golden_greedy_ids_i32.bin");
  const auto logits = read_binary<float>(folder + "/golden_logits_f32.bin");
  REQUIRE(ids.size() == 201);
  REQUIRE(logits.size() == 201 * 512);

  rank_options options;
  options.kv = kv_dtype::f32;
  bench b(source, options, 16);
  double worst = 0.0;
  std::int32_t token = ids[0];
  for (std::uint32_t i = 0; i < 201; ++i) {
    auto s = tokens_slice({token}, i, blocks_from(0, 16));
    s.want_logits = true;
    s.sample = sampling{};
    auto results = b.run->run({1, i, {s}});
    REQUIRE(results.ok());
    const auto& result = results.value()[0];
    REQUIRE(result.logits.size() == 512);
    for (std::size_t v = 0; v < 512; ++v)
      worst = std::max(worst, std::fabs(double{result.logits[v]} - double{logits[i * 512 + v]}));
    token = *result.token;
    if (i + 1 < 201)
      CHECK_MESSAGE(token == ids[i + 1], "at position ", i + 1);
  }
  CHECK(worst < 1e-4);
  MESSAGE("largest difference of a logit: ", worst);
}

TEST_CASE("a bf16 cache keeps the byte-level model close to its f32 cache") {
  const auto source = load_if_present(kjv_folder);
  if (!source) {
    MESSAGE("kjv-1.6m is not at hand");
    return;
  }
  rank_options half;
  rank_options full;
  full.kv = kv_dtype::f32;
  bench a(source, half, 16);
  bench b(source, full, 16);
  const std::string text = "In the beginning God created the heaven and the ";
  const std::vector<std::int32_t> prompt(text.begin(), text.end());
  const auto with_half = run_sequence(a, prompt, 0, blocks_from(0, 16), 5);
  const auto with_full = run_sequence(b, prompt, 0, blocks_from(0, 16), 5);
  CHECK(with_half.tokens == with_full.tokens);
  float worst = 0.0F;
  for (std::size_t i = 0; i < with_half.logits.size(); ++i)
    worst = std::max(worst, std::fabs(with_half.logits[i] - with_full.logits[i]));
  CHECK(worst < 0.01F);
}
