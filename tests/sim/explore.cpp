#include "tests/sim/explore.hpp"

#include <xxhash.h>

#include <algorithm>
#include <chrono>

namespace baton::sim {

namespace {

/// Hashes of the states seen, open addressing. Two states that share 64 bits would be taken for
/// one: with 10^8 states the chance of any such pair is below 3 in 10,000.
class hash_set {
public:
  hash_set() : slots_(1U << 20) {}

  bool insert(std::uint64_t h) {
    if ((size_ + 1) * 10 > slots_.size() * 7)
      grow();
    return put(h == 0 ? 1 : h);
  }

private:
  bool put(std::uint64_t h) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = h & mask;; i = (i + 1) & mask) {
      if (slots_[i] == h)
        return false;
      if (slots_[i] == 0) {
        slots_[i] = h;
        ++size_;
        return true;
      }
    }
  }
  void grow() {
    std::vector<std::uint64_t> old(slots_.size() * 2);
    old.swap(slots_);
    size_ = 0;
    for (const std::uint64_t h : old)
      if (h != 0)
        put(h);
  }

  std::vector<std::uint64_t> slots_;
  std::size_t size_ = 0;
};

struct origin {
  std::uint32_t parent = 0;
  action taken;
};

class search {
public:
  search(const world_setup& setup, const explore_limits& limits)
    : setup_(setup), limits_(limits), known_(setup.shape), at_(known_, setup), next_(at_) {}

  exploration run() {
    const auto begun = std::chrono::steady_clock::now();
    const auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    };
    at_.save(buffer_);
    keep(buffer_, {});
    judge(at_, 0);
    while (result_.broken.empty() && !frontier_.empty() && !spent(seconds())) {
      ++result_.depth;
      std::vector<std::uint32_t> layer;
      layer.swap(frontier_);
      const std::uint32_t first = layer_first_;
      layer_first_ = static_cast<std::uint32_t>(origins_.size());
      const std::uint32_t* in = layer.data();
      for (std::uint32_t index = first; in != layer.data() + layer.size(); ++index) {
        at_.load(in);
        expand(index);
        if (!result_.broken.empty() || ((index & 0xfff) == 0 && spent(seconds())))
          break;
      }
    }
    result_.complete = result_.broken.empty() && frontier_.empty();
    result_.states = origins_.size();
    result_.steps_known = known_.steps();
    result_.seconds = seconds();
    return result_;
  }

private:
  bool spent(double seconds) const {
    return origins_.size() >= limits_.states_max || seconds >= limits_.seconds_max;
  }

  void keep(const std::vector<std::uint32_t>& state, origin from) {
    frontier_.insert(frontier_.end(), state.begin(), state.end());
    origins_.push_back(from);
  }

  void expand(std::uint32_t index) {
    at_.enabled(actions_);
    for (const action& a : actions_) {
      next_ = at_;
      next_.apply(a);
      ++result_.transitions;
      if (!next_.broken().empty()) {
        fail(next_.broken(), index, &a);
        return;
      }
      if (next_.cut())
        continue;
      next_.save(buffer_);
      if (!seen_.insert(XXH3_64bits(buffer_.data(), buffer_.size() * sizeof(std::uint32_t))))
        continue;
      keep(buffer_, {index, a});
      judge(next_, static_cast<std::uint32_t>(origins_.size() - 1));
      if (!result_.broken.empty())
        return;
    }
    if (actions_.empty())
      must_rest(at_, index);
  }

  /// One state in so many is healed, and must then come to rest.
  void judge(const world& w, std::uint32_t index) {
    if (limits_.heal_one_in == 0 || index % limits_.heal_one_in != 0)
      return;
    must_rest(w, index);
  }

  void must_rest(const world& w, std::uint32_t index) {
    ++result_.healed;
    world healed = w;
    healed.heal();
    const std::string left = run_to_rest(healed);
    if (!left.empty())
      fail(left, index, nullptr);
  }

  void fail(const std::string& sentence, std::uint32_t index, const action* last) {
    if (!result_.broken.empty())
      return;
    result_.broken = sentence;
    for (std::uint32_t i = index; i != 0; i = origins_[i].parent)
      result_.way.push_back(origins_[i].taken);
    std::reverse(result_.way.begin(), result_.way.end());
    if (last != nullptr)
      result_.way.push_back(*last);
  }

  const world_setup& setup_;
  explore_limits limits_;
  catalogue known_;
  world at_;
  world next_;
  exploration result_;
  hash_set seen_;
  std::vector<std::uint32_t> frontier_; ///< states, one after the other
  std::vector<origin> origins_;
  std::uint32_t layer_first_ = 0;
  std::vector<action> actions_;
  std::vector<std::uint32_t> buffer_;
};

} // namespace

exploration explore(const world_setup& setup, const explore_limits& limits) {
  return search(setup, limits).run();
}

} // namespace baton::sim
