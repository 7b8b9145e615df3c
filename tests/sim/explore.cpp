#include "tests/sim/explore.hpp"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <numeric>

namespace baton::sim {

namespace {

/// Hashes of the states seen, open addressing. Two states that share 64 bits would be taken for
/// one: with 10^8 states the chance of any such pair is below 3 in 10,000.
class hash_set {
public:
  explicit hash_set(std::size_t slots) : slots_(slots) {} ///< a power of two

  bool insert(std::uint64_t h) {
    if ((size_ + 1) * 10 > slots_.size() * 7)
      grow();
    return put(h == 0 ? 1 : h);
  }

  bool contains(std::uint64_t h) const {
    h = h == 0 ? 1 : h;
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = h & mask;
    while (slots_[i] != 0 && slots_[i] != h)
      i = (i + 1) & mask;
    return slots_[i] == h;
  }
  void clear() {
    std::fill(slots_.begin(), slots_.end(), 0);
    size_ = 0;
  }
  std::size_t size() const { return size_; }
  std::uint64_t sum() const { return std::accumulate(slots_.begin(), slots_.end(), 0ULL); }

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
      if (setup_.reduced)
        fresh_.clear();
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
    result_.rests = rests_.size();
    result_.rests_sum = rests_.sum();
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
    if (limits_.count_rests && at_.rests())
      rests_.insert(at_.rest_hash());
    made_.clear();
    made_words_.clear();
    if (setup_.reduced && expand_one_request(index))
      return;
    for (std::size_t i = 0; i < actions_.size() && result_.broken.empty(); ++i)
      if (make(i, index))
        take(made_[i], index);
    if (actions_.empty())
      must_rest(at_, index);
  }

  struct successor {
    std::uint32_t action = 0;
    bool done = false;
    bool cut = false;
    footprint touched;
    std::uint64_t hash = 0;
    std::size_t first = 0; ///< of its words
    std::size_t last = 0;
  };

  /// What action `i` makes of the state; false when it breaks something.
  bool make(std::size_t i, std::uint32_t index) {
    made_.resize(actions_.size());
    if (made_[i].done)
      return true;
    next_ = at_;
    next_.apply(actions_[i]);
    ++result_.transitions;
    if (!next_.broken().empty()) {
      fail(next_.broken(), index, &actions_[i]);
      return false;
    }
    next_.save(buffer_);
    successor& s = made_[i];
    s = {static_cast<std::uint32_t>(i), true, next_.cut(), next_.touched(),
         XXH3_64bits(buffer_.data(), buffer_.size() * sizeof(std::uint32_t)),
         made_words_.size(), made_words_.size() + buffer_.size()};
    if (!seen_.contains(s.hash))
      made_words_.insert(made_words_.end(), buffer_.begin(), buffer_.end());
    return true;
  }

  void take(const successor& s, std::uint32_t index) {
    if (s.cut || !seen_.insert(s.hash))
      return;
    if (setup_.reduced)
      fresh_.insert(s.hash);
    frontier_.insert(frontier_.end(), made_words_.begin() + static_cast<std::ptrdiff_t>(s.first),
                     made_words_.begin() + static_cast<std::ptrdiff_t>(s.last));
    origins_.push_back({index, actions_[s.action]});
    const auto number = static_cast<std::uint32_t>(origins_.size() - 1);
    if (limits_.heal_one_in == 0 || number % limits_.heal_one_in != 0)
      return;
    const std::uint32_t* in = made_words_.data() + s.first;
    next_.load(in);
    must_rest(next_, number);
  }

  /// True when the actions of one request were enough: those of the others lead to the same states
  /// before and after them.
  bool expand_one_request(std::uint32_t index) {
    if (actions_.empty() || !at_.is_separable() || at_.rests())
      return false;
    whose_.clear();
    std::uint32_t present = 0;
    for (const action& a : actions_) {
      const auto request = at_.request_of(a);
      if (!request)
        return false;
      whose_.push_back(*request);
      present |= 1U << *request;
    }
    if ((present & (present - 1)) == 0)
      return false; // nobody else
    for (std::uint8_t r = 0; r < setup_.requests.size(); ++r)
      if ((present >> r & 1U) != 0 && (expand_alone(r, index) || !result_.broken.empty()))
        return true;
    return false;
  }

  bool expand_alone(std::uint8_t request, std::uint32_t index) {
    bool leads_on = false; // to a state that is still to be expanded: nobody waits for ever
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      if (whose_[i] != request)
        continue;
      if (!make(i, index))
        return true;
      const successor& s = made_[i];
      if (s.touched.requests != 1U << request && s.touched.requests != 0)
        return false;
      if (s.touched.admits || (s.touched.frees && !others_settled(request)))
        return false;
      leads_on = leads_on || (!s.cut && (!seen_.contains(s.hash) || fresh_.contains(s.hash)));
    }
    if (!leads_on)
      return false;
    ++result_.alone;
    for (std::size_t i = 0; i < actions_.size() && result_.broken.empty(); ++i)
      if (whose_[i] == request)
        take(made_[i], index);
    return true;
  }

  bool others_settled(std::uint8_t request) const {
    for (std::uint8_t r = 0; r < setup_.requests.size(); ++r)
      if (r != request && !at_.is_settled(r))
        return false;
    return true;
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
  hash_set seen_{1U << 20};
  hash_set fresh_{1U << 12}; ///< of seen_, those that the next layer expands
  hash_set rests_{1U << 12};
  std::vector<successor> made_; ///< by action
  std::vector<std::uint32_t> made_words_;
  std::vector<std::uint8_t> whose_; ///< by action
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
