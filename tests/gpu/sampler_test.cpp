#include "gpu/sampler.hpp"
#include "tests/gpu/support.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>

using namespace baton::gpu;

namespace {

/// How often each token comes over `draws` positions.
std::map<std::int32_t, int> count_tokens(const std::vector<float>& logits, const sampling& how,
                                         int draws) {
  std::map<std::int32_t, int> counts;
  for (int position = 0; position < draws; ++position)
    ++counts[sample_token(logits.data(), logits.size(), how, static_cast<std::uint64_t>(position))];
  return counts;
}

} // namespace

TEST_CASE("greedy takes the largest logit, and the lowest id of a tie") {
  const std::vector<float> logits{1.0F, 3.0F, 2.0F, 3.0F};
  CHECK(sample_token(logits.data(), 4, {}, 0) == 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> odd{nan, -5.0F, nan, -4.0F};
  CHECK(sample_token(odd.data(), 4, {}, 0) == 3);
  CHECK(sample_token(odd.data(), 4, {1.0F, 1.0F, 0, 7}, 3) % 2 == 1);
}

TEST_CASE("the generator is Philox4x32-10") {
  // Known answer of the authors' Random123: key 0 and counter 0 give 6627e8d5 e169c58d ...
  const std::uint64_t bits = 0x6627e8d5e169c58dULL;
  CHECK(draw_uniform(0, 0) == static_cast<double>(bits >> 11) * 0x1p-53);
}

TEST_CASE("a draw depends on seed and position and on nothing else") {
  const auto logits = std::vector<float>{0.5F, 1.0F, 0.0F, 2.0F, 1.5F};
  const sampling how{0.8F, 0.95F, 4, 42};
  std::vector<std::int32_t> forward;
  for (std::uint64_t p = 0; p < 100; ++p)
    forward.push_back(sample_token(logits.data(), logits.size(), how, p));
  for (std::uint64_t p = 100; p-- > 0;)
    CHECK(sample_token(logits.data(), logits.size(), how, p) == forward[p]);
  CHECK(draw_uniform(1, 5) != draw_uniform(2, 5));
  CHECK(draw_uniform(1, 5) != draw_uniform(1, 6));
  CHECK(draw_uniform(1ULL << 32, 5) != draw_uniform(0, 5));
  CHECK(draw_uniform(1, 1ULL << 32) != draw_uniform(1, 0));
}

TEST_CASE("frequencies follow the softmax at the temperature") {
  const std::vector<float> logits{0.0F, 1.0F, 2.0F, -1.0F};
  for (const float temperature : {0.7F, 1.0F, 2.0F}) {
    const int draws = 40'000;
    const auto counts = count_tokens(logits, {temperature, 1.0F, 0, 99}, draws);
    double total = 0.0;
    for (const float l : logits)
      total += std::exp(l / temperature);
    double chi_squared = 0.0;
    for (std::int32_t id = 0; id < 4; ++id) {
      const float logit = logits[static_cast<std::size_t>(id)];
      const double expected = draws * std::exp(logit / temperature) / total;
      const double off = counts.at(id) - expected;
      chi_squared += off * off / expected;
    }
    CHECK(chi_squared < 16.27); // 3 degrees of freedom, p = 0.001; the draws are fixed
  }
}

TEST_CASE("top_k and top_p cut the tail and keep at least one") {
  const std::vector<float> logits{0.0F, 1.0F, 2.0F, -1.0F}; // 0.087 0.237 0.644 0.032
  const auto keys = [&](const sampling& how) {
    std::vector<std::int32_t> ids;
    for (const auto& entry : count_tokens(logits, how, 2000))
      ids.push_back(entry.first);
    return ids;
  };
  using ids = std::vector<std::int32_t>;
  CHECK(keys({1.0F, 1.0F, 2, 5}) == ids{1, 2});
  CHECK(keys({1.0F, 1.0F, 1, 5}) == ids{2});
  CHECK(keys({1.0F, 0.5F, 0, 5}) == ids{2});
  CHECK(keys({1.0F, 0.7F, 0, 5}) == ids{1, 2});
  CHECK(keys({1.0F, 0.9F, 0, 5}) == ids{0, 1, 2});
  CHECK(keys({1.0F, 1e-9F, 0, 5}) == ids{2});
  CHECK(keys({1.0F, 0.9F, 2, 5}) == ids{1, 2});
}

TEST_CASE("parameters out of range are named") {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_FALSE(check_sampling({}));
  CHECK(check_sampling({-1.0F, 1.0F, 0, 0}).text.find("temperature") == 0);
  CHECK(check_sampling({nan, 1.0F, 0, 0}).text.find("temperature") == 0);
  CHECK(check_sampling({1.0F, 0.0F, 0, 0}).text.find("top_p") == 0);
  CHECK(check_sampling({1.0F, 1.5F, 0, 0}).text.find("top_p") == 0);
  CHECK(check_sampling({1.0F, nan, 0, 0}).text.find("top_p") == 0);
}
