// Work of many lanes: each lane's in its own order, and between lanes the one goes on that has had
// the fewest bytes. A short hand-off passes a long one that came first.
//
// This is start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996) with equal weights and a head
// start: a lane that comes, or comes back, starts head_start_bytes before the one being served, so
// that what is shorter than that goes first and what is longer shares equally. Who keeps arriving
// with a head start could keep a long lane waiting for ever: each patient_turn-th turn is that of
// the lane which has waited longest.
#pragma once

#include "protocol/assert.hpp"
#include "protocol/ids.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace baton::transport {

template <class Item>
class fair_queue {
public:
  static constexpr std::uint64_t head_start_bytes = 64ULL << 20;
  static constexpr std::uint64_t patient_turn = 8;
  static constexpr std::size_t looked_at_max = 32;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  void push(const protocol::lane_id& lane, Item item) {
    line& to = lines_[lane];
    if (to.items.empty()) {
      to.served_bytes = now_bytes_ - std::min(now_bytes_, head_start_bytes);
      to.came_bytes = to.served_bytes;
      to.last_turn = turn_;
      enter(lane, to);
    }
    to.items.push_back(std::move(item));
    ++size_;
  }

  /// Gives the turn to the first lane for which `may_go(its oldest, bytes that it has had since it
  /// came)`, of those whose turn comes soonest. It keeps the turn until it has been served. False
  /// when there is none.
  template <class Predicate>
  bool choose(Predicate may_go) {
    chosen_.reset();
    std::size_t looked_at = 0;
    for (const auto& [rank, lane] : present_order()) {
      const line& l = lines_.at(lane);
      if (may_go(l.items.front(), l.served_bytes - l.came_bytes)) {
        chosen_ = lane;
        return true;
      }
      if (++looked_at == looked_at_max)
        break;
    }
    return false;
  }

  /// Bytes that the lane whose turn it is has had since it came.
  std::uint64_t front_served_bytes() {
    const line& l = present()->second;
    return l.served_bytes - l.came_bytes;
  }

  /// The oldest of the lane whose turn it is; not of an empty queue.
  Item& front() { return present()->second.items.front(); }

  /// Everything that waits of the lane whose turn it is, oldest first; not of an empty queue.
  std::deque<Item>& front_line() { return present()->second.items; }

  /// The front's lane has had `bytes` more, and its `finished` oldest are taken out. What has been
  /// served in part stays the lane's oldest.
  void serve(std::uint64_t bytes, std::size_t finished) {
    const auto at = present();
    chosen_.reset();
    line& served = at->second;
    leave(at->first, served);
    now_bytes_ = std::max(now_bytes_, served.served_bytes);
    served.served_bytes += bytes;
    served.last_turn = ++turn_;
    BATON_ASSERT(finished <= served.items.size());
    served.items.erase(served.items.begin(),
                       served.items.begin() + static_cast<std::ptrdiff_t>(finished));
    size_ -= finished;
    if (served.items.empty())
      lines_.erase(at);
    else
      enter(at->first, served);
  }

  /// Takes out, lane by lane and oldest first, what `wanted` is true of.
  template <class Predicate>
  std::vector<Item> take_if(Predicate wanted) {
    std::vector<Item> taken;
    chosen_.reset();
    for (auto at = lines_.begin(); at != lines_.end();) {
      std::deque<Item> kept;
      for (Item& item : at->second.items) {
        if (wanted(item))
          taken.push_back(std::move(item));
        else
          kept.push_back(std::move(item));
      }
      at->second.items = std::move(kept);
      if (!at->second.items.empty()) {
        ++at;
        continue;
      }
      leave(at->first, at->second);
      at = lines_.erase(at);
    }
    size_ -= taken.size();
    return taken;
  }

  std::vector<Item> take_all() {
    return take_if([](const Item&) { return true; });
  }

private:
  struct line {
    std::uint64_t served_bytes = 0; ///< as if it had always been here
    std::uint64_t came_bytes = 0;   ///< its served_bytes when it came
    std::uint64_t last_turn = 0;
    std::deque<Item> items;         ///< never empty while it is in lines_
  };
  using lines = std::map<protocol::lane_id, line>;
  using order = std::set<std::pair<std::uint64_t, protocol::lane_id>>;

  void enter(const protocol::lane_id& lane, const line& l) {
    by_bytes_.emplace(l.served_bytes, lane);
    by_turn_.emplace(l.last_turn, lane);
  }
  void leave(const protocol::lane_id& lane, const line& l) {
    by_bytes_.erase({l.served_bytes, lane});
    by_turn_.erase({l.last_turn, lane});
  }

  const order& present_order() const {
    return turn_ % patient_turn == patient_turn - 1 ? by_turn_ : by_bytes_;
  }

  typename lines::iterator present() {
    if (chosen_)
      return lines_.find(*chosen_);
    BATON_ASSERT(size_ > 0);
    return lines_.find(present_order().begin()->second);
  }

  lines lines_;
  order by_bytes_;
  order by_turn_;
  std::uint64_t now_bytes_ = 0; ///< of the lane that has been served last, before that
  std::uint64_t turn_ = 0;
  std::optional<protocol::lane_id> chosen_;
  std::size_t size_ = 0;
};

} // namespace baton::transport
