// Real endpoints for tests: nodes with arenas, recorders that wait for events with a deadline, and
// pairs of connected nodes over each path.
#pragma once

#include "transport/loopback.hpp"
#include "transport/ucx.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

namespace baton::transport::testing {

inline constexpr std::chrono::seconds patience{30};
inline constexpr std::byte poison{0xA5};

/// Keeps every event, of a notice about several pieces each piece; tests take them out by type.
class recorder {
public:
  using event = std::variant<lane_admitted, piece_landed, offer_refused, lane_stopped,
                             receipt_arrived, reader_stopped, offer_rejected, peer_failed,
                             peer_connected>;

  void record(transfer_event e) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::visit([this](auto& each) { keep(std::move(each)); }, e);
    arrived_.notify_all();
  }

  /// Takes the first event of this type that satisfies `wanted`; none after `patience`.
  template <class Event, class Predicate>
  std::optional<Event> next(Predicate wanted) {
    std::unique_lock<std::mutex> lock(mutex_);
    std::optional<Event> found;
    arrived_.wait_for(lock, patience, [&] {
      for (auto at = events_.begin(); at != events_.end(); ++at)
        if (const auto* event = std::get_if<Event>(&*at); event != nullptr && wanted(*event)) {
          found = *event;
          events_.erase(at);
          return true;
        }
      return false;
    });
    return found;
  }
  template <class Event>
  std::optional<Event> next() {
    return next<Event>([](const Event&) { return true; });
  }
  /// How many events of this type are waiting now.
  template <class Event>
  std::size_t count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::size_t n = 0;
    for (const event& e : events_)
      n += std::holds_alternative<Event>(e) ? 1 : 0;
    return n;
  }
  /// How many notices have told of landed pieces so far.
  std::size_t landing_notices() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return landing_notices_;
  }

private:
  template <class Event>
  void keep(Event e) {
    events_.push_back(std::move(e));
  }
  void keep(pieces_landed e) {
    ++landing_notices_;
    for (piece_landed& each : e.pieces)
      events_.push_back(std::move(each));
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<event> events_;
  std::size_t landing_notices_ = 0;
};

struct node_options {
  endpoint_limits limits;
  integrity check = integrity::off;
  std::uint64_t arena_bytes = 64ULL << 20;
};

/// One node; its endpoint ends before its arena.
struct node {
  node_name name;
  incarnation life;
  std::unique_ptr<arena> memory;
  recorder events;
  std::unique_ptr<endpoint> device;

  std::byte* at(std::uint64_t offset) const { return memory->base() + offset; }
};

std::unique_ptr<node> make_node(path_kind path, hub& place, const std::string& name,
                                const node_options& options);
/// The same on memory that is there already.
std::unique_ptr<node> make_node(path_kind path, hub& place, const std::string& name,
                                const node_options& options, arena memory);
incarnation fresh_life();

/// Connects both ways and waits for both peer_connected.
void introduce(node& a, node& b);

/// A source and a destination, connected.
struct node_pair {
  explicit node_pair(path_kind path, const node_options& options = {});

  hub place;
  std::unique_ptr<node> source;
  std::unique_ptr<node> destination;
};

/// The n-th lane of a test.
lane_id lane_numbered(std::uint64_t n);
/// A grant of `pieces` contiguous pieces, placed one after the other at the destination, blocks
/// numbered from 0 with generation 7.
lane_grant plain_grant(lane_id lane, incarnation source, std::uint32_t pieces,
                       std::uint64_t piece_bytes);
/// The matching offer, from the same offsets at the source.
piece_offer plain_offer(const lane_grant& grant, std::uint32_t piece);

/// Bytes that depend on position and seed.
void fill_pattern(std::byte* at, std::uint64_t bytes, std::uint64_t seed);
void fill_poison(node& n);
bool all_poison(const std::byte* at, std::uint64_t bytes);

/// Admits and waits for lane_admitted.
void admit(node& destination, const lane_grant& grant);
/// Waits for `count` different pieces of the lane.
void wait_landed(node& destination, lane_id lane, std::size_t count);

/// For TEST_CASE_TEMPLATE.
struct over_loopback {
  static constexpr path_kind path = path_kind::loopback;
};
struct over_pull {
  static constexpr path_kind path = path_kind::pull;
};
struct over_shared_arena {
  static constexpr path_kind path = path_kind::shared_arena;
};

} // namespace baton::transport::testing

TYPE_TO_STRING(baton::transport::testing::over_loopback);
TYPE_TO_STRING(baton::transport::testing::over_pull);
TYPE_TO_STRING(baton::transport::testing::over_shared_arena);
