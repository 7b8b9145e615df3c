#include "tests/sim/choices.hpp"

#include <numeric>

namespace baton::sim {

std::uint64_t prng::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint32_t prng::below(std::uint32_t bound) {
  return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
}

std::uint32_t prng_choices::pick(std::uint32_t bound, const char*) { return random_.below(bound); }

std::uint32_t prng_choices::weigh(const std::vector<std::uint32_t>& weights, const char*) {
  const auto sum = std::accumulate(weights.begin(), weights.end(), 0U);
  std::uint32_t left = random_.below(sum);
  std::uint32_t index = 0;
  while (left >= weights[index])
    left -= weights[index++];
  return index;
}

std::uint32_t tape_choices::pick(std::uint32_t bound, const char*) {
  return at_ < tape_.size() ? tape_[at_++] % bound : 0;
}

std::uint32_t recording_choices::pick(std::uint32_t bound, const char* what) {
  tape_.push_back(inner_.pick(bound, what));
  return tape_.back();
}

std::uint32_t recording_choices::weigh(const std::vector<std::uint32_t>& weights,
                                       const char* what) {
  tape_.push_back(inner_.weigh(weights, what));
  return tape_.back();
}

} // namespace baton::sim
