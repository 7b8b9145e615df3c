// The memory that a group's ranks share, and how they wait in it.
//
//   | header: bell, poison, joined | rank 0: arrived, entries[2] | ... | rank 0: data[2] | ...
//
// Entries and data are doubled: operation n uses half n mod 2. A rank can only publish n + 2 after
// every rank has published n + 1, that is, after every rank has finished reading n.
#pragma once

#include "gpu/cpu/collective.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace baton::gpu {

inline constexpr std::uint32_t group_ranks_max = 64;

/// What a rank publishes before its data: all ranks' entries of one operation must be equal.
struct group_entry {
  schedule where;
  std::uint32_t op = 0;
  std::uint32_t dtype = 0;
  std::uint64_t count = 0;    ///< elements per rank, of the whole operation
  std::uint64_t offset = 0;   ///< of this part
  std::uint64_t sequence = 0; ///< number of this part within the group's life, from 1
};

bool operator==(const group_entry& a, const group_entry& b);
/// "epoch 1 step 7 layer 3 phase mlp_out op all_reduce_sum f32 x 1024 at 0, sequence 12"
std::string to_string(const group_entry& e);

class group_segment {
public:
  using clock = std::chrono::steady_clock;

  /// Memory shared with threads of this process and its forks.
  static protocol::outcome<std::shared_ptr<group_segment>> local(std::uint32_t ranks,
                                                                 const collective_limits& limits);
  /// Named memory; see join_shared_group. Returns when all ranks are in.
  static protocol::outcome<std::shared_ptr<group_segment>>
  join(const std::string& name, std::uint32_t rank, std::uint32_t ranks,
       const collective_limits& limits);

  group_segment(const group_segment&) = delete;
  group_segment& operator=(const group_segment&) = delete;
  ~group_segment();

  std::uint32_t ranks() const { return ranks_; }
  const collective_limits& limits() const { return limits_; }
  std::size_t slot_floats() const { return limits_.slot_bytes / sizeof(float); }

  /// The half of `rank` that operation `sequence` uses.
  group_entry& entry(std::uint32_t rank, std::uint64_t sequence);
  float* data(std::uint32_t rank, std::uint64_t sequence);

  /// Says that `rank` has written its entry and data of `sequence`, and wakes who waits for it.
  void publish(std::uint32_t rank, std::uint64_t sequence);
  /// The latest operation that `rank` has published.
  std::uint64_t arrived(std::uint32_t rank) const;

  /// Says that `rank` takes part in nothing any more.
  void leave(std::uint32_t rank);
  bool has_left(std::uint32_t rank) const;

  /// Records the first reason and wakes all.
  void poison(const std::string& why);
  bool poisoned() const;
  /// The recorded reason; empty when not poisoned.
  std::string poison_text() const;

  /// Waits until done() holds: polls, then sleeps between changes. False at the deadline.
  template <class Done>
  bool wait(clock::time_point deadline, Done&& done) {
    if (spin(done))
      return true;
    while (true) {
      const std::uint32_t seen = begin_sleep();
      if (done()) {
        end_sleep();
        return true;
      }
      const bool in_time = sleep(seen, deadline);
      end_sleep();
      if (!in_time)
        return done();
    }
  }

private:
  struct header;
  struct rank_state;

  group_segment(void* base, std::size_t bytes, std::uint32_t ranks,
                const collective_limits& limits);

  static std::size_t bytes_needed(std::uint32_t ranks, const collective_limits& limits);
  static protocol::outcome<std::shared_ptr<group_segment>>
  create(const std::string& name, std::uint32_t ranks, const collective_limits& limits);
  static protocol::outcome<std::shared_ptr<group_segment>>
  open(const std::string& name, std::uint32_t ranks, const collective_limits& limits,
       clock::time_point deadline);
  protocol::failure enter(const std::string& name, std::uint32_t rank,
                          clock::time_point deadline);

  template <class Done>
  bool spin(Done& done) {
    for (std::uint32_t i = 0; i < limits_.spins; ++i) {
      if (done())
        return true;
      relax();
    }
    return false;
  }
  static void relax();
  std::uint32_t begin_sleep();
  bool sleep(std::uint32_t seen, clock::time_point deadline);
  void end_sleep();
  void ring();

  header& head() const { return *static_cast<header*>(base_); }
  rank_state& state(std::uint32_t rank) const;

  void* base_;
  std::size_t bytes_;
  std::uint32_t ranks_;
  collective_limits limits_;
};

} // namespace baton::gpu
