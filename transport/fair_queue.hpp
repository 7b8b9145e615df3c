// Work of many lanes: each lane's in its own order, and between lanes the one goes on that has had
// the fewest bytes. A short hand-off passes a long one that came first, and nobody waits for ever.
//
// This is start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996) with equal weights: a lane that
// comes, or comes back, starts where the one being served now is, so that it neither makes up for
// what it missed nor pays for what it had.
#pragma once

#include "protocol/assert.hpp"
#include "protocol/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace baton::transport {

template <class Item>
class fair_queue {
public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  void push(const protocol::lane_id& lane, Item item) {
    line& to = lines_[lane];
    if (to.items.empty()) {
      to.served_bytes = now_bytes_;
      turns_.emplace(to.served_bytes, lane);
    }
    to.items.push_back(std::move(item));
    ++size_;
  }

  /// The oldest of the lane whose turn it is; not of an empty queue.
  Item& front() { return turn()->second.items.front(); }

  /// The front's lane has had `bytes` more. With `done` the front is taken out; else it stays the
  /// lane's oldest.
  void serve(std::uint64_t bytes, bool done) {
    const auto at = turn();
    line& served = at->second;
    now_bytes_ = served.served_bytes;
    turns_.erase({served.served_bytes, at->first});
    served.served_bytes += bytes;
    if (done) {
      served.items.pop_front();
      --size_;
    }
    if (served.items.empty())
      lines_.erase(at);
    else
      turns_.emplace(served.served_bytes, at->first);
  }

  /// Takes out, lane by lane and oldest first, what `wanted` is true of.
  template <class Predicate>
  std::vector<Item> take_if(Predicate wanted) {
    std::vector<Item> taken;
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
      turns_.erase({at->second.served_bytes, at->first});
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
    std::uint64_t served_bytes = 0; ///< since the queue began, as if it had always been here
    std::deque<Item> items;         ///< never empty while it is in lines_
  };
  using lines = std::map<protocol::lane_id, line>;

  typename lines::iterator turn() {
    BATON_ASSERT(!turns_.empty());
    return lines_.find(turns_.begin()->second);
  }

  lines lines_;
  std::set<std::pair<std::uint64_t, protocol::lane_id>> turns_; ///< by served_bytes
  std::uint64_t now_bytes_ = 0;
  std::size_t size_ = 0;
};

} // namespace baton::transport
