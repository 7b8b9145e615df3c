// The only source of chance of a simulated run. A run is a function of its choices: written down
// as a tape they replay it, and a shorter tape is a shorter run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace baton::sim {

class choices {
public:
  virtual ~choices() = default;

  /// A number below `bound` (> 0). 0 is always the dullest option: deliver in order, no fault.
  virtual std::uint32_t pick(std::uint32_t bound, const char* what) = 0;

  /// An index into `weights`, which are not all zero. Only a driver that draws at random looks at
  /// them; for the others this is pick(weights.size()).
  virtual std::uint32_t weigh(const std::vector<std::uint32_t>& weights, const char* what) {
    return pick(static_cast<std::uint32_t>(weights.size()), what);
  }
};

/// SplitMix64: small, and the same on every machine.
class prng {
public:
  explicit prng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  std::uint32_t below(std::uint32_t bound); ///< uniform up to a bias of bound / 2^32

private:
  std::uint64_t state_;
};

class prng_choices : public choices {
public:
  explicit prng_choices(std::uint64_t seed) : random_(seed) {}

  std::uint32_t pick(std::uint32_t bound, const char* what) override;
  std::uint32_t weigh(const std::vector<std::uint32_t>& weights, const char* what) override;

private:
  prng random_;
};

/// Choices that were written down. Past its end every choice is the dullest; a number that is out
/// of bounds (an edited tape) is taken modulo the bound.
class tape_choices : public choices {
public:
  explicit tape_choices(std::vector<std::uint32_t> tape) : tape_(std::move(tape)) {}

  std::uint32_t pick(std::uint32_t bound, const char* what) override;

private:
  std::vector<std::uint32_t> tape_;
  std::size_t at_ = 0;
};

/// Writes down what another driver chooses.
class recording_choices : public choices {
public:
  explicit recording_choices(choices& inner) : inner_(inner) {}

  std::uint32_t pick(std::uint32_t bound, const char* what) override;
  std::uint32_t weigh(const std::vector<std::uint32_t>& weights, const char* what) override;
  const std::vector<std::uint32_t>& tape() const { return tape_; }

private:
  choices& inner_;
  std::vector<std::uint32_t> tape_;
};

} // namespace baton::sim
