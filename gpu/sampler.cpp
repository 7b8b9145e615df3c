#include "gpu/sampler.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::reason;

struct candidate {
  float logit = 0.0F;
  std::int32_t id = 0;
};

bool likelier(const candidate& a, const candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

float without_nan(float logit) {
  return std::isnan(logit) ? -std::numeric_limits<float>::infinity() : logit;
}

std::int32_t greedy(const float* logits, std::size_t vocab) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < vocab; ++i)
    if (without_nan(logits[i]) > without_nan(logits[best]))
      best = i;
  return static_cast<std::int32_t>(best);
}

/// The likeliest candidates in order, cut to top_k.
std::vector<candidate> ordered_candidates(const float* logits, std::size_t vocab,
                                          std::uint32_t top_k) {
  std::vector<candidate> all(vocab);
  for (std::size_t i = 0; i < vocab; ++i)
    all[i] = {without_nan(logits[i]), static_cast<std::int32_t>(i)};
  const std::size_t keep = top_k == 0 ? vocab : std::min<std::size_t>(top_k, vocab);
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(keep);
  std::partial_sort(all.begin(), end, all.end(), likelier);
  all.resize(keep);
  return all;
}

} // namespace

double draw_uniform(std::uint64_t seed, std::uint64_t position) {
  std::array<std::uint32_t, 4> counter{static_cast<std::uint32_t>(position),
                                       static_cast<std::uint32_t>(position >> 32), 0, 0};
  std::uint32_t key0 = static_cast<std::uint32_t>(seed);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0,
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1,
               static_cast<std::uint32_t>(product0)};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  const std::uint64_t bits = (std::uint64_t{counter[0]} << 32) | counter[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

failure check_sampling(const sampling& how) {
  if (!std::isfinite(how.temperature) || how.temperature < 0.0F)
    return {reason::bad_input, "temperature: is not a number of at least 0"};
  if (!(how.top_p > 0.0F) || how.top_p > 1.0F)
    return {reason::bad_input, "top_p: is not above 0 and at most 1"};
  return {};
}

std::int32_t sample_token(const float* logits, std::size_t vocab, const sampling& how,
                          std::uint64_t position) {
  if (how.temperature == 0.0F || how.top_k == 1)
    return greedy(logits, vocab);
  const auto candidates = ordered_candidates(logits, vocab, how.top_k);
  const double peak = candidates.front().logit;
  if (!std::isfinite(peak)) // nothing can be weighed against an infinity
    return candidates.front().id;

  std::vector<double> cumulative(candidates.size());
  double total = 0.0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    total += std::exp((candidates[i].logit - peak) / static_cast<double>(how.temperature));
    cumulative[i] = total;
  }
  std::size_t kept = candidates.size();
  if (how.top_p < 1.0F) {
    const auto head = std::lower_bound(cumulative.begin(), cumulative.end(),
                                       total * static_cast<double>(how.top_p));
    kept = std::min<std::size_t>(kept, static_cast<std::size_t>(head - cumulative.begin()) + 1);
  }
  const double target = draw_uniform(how.seed, position) * cumulative[kept - 1];
  const auto end = cumulative.begin() + static_cast<std::ptrdiff_t>(kept);
  const auto chosen = std::upper_bound(cumulative.begin(), end, target);
  const auto index = std::min(static_cast<std::size_t>(chosen - cumulative.begin()), kept - 1);
  return candidates[index].id;
}

} // namespace baton::gpu
