// The bytes of a group's shared memory.
#pragma once

#include "gpu/cpu/group_segment.hpp"

namespace baton::gpu {

enum group_health : std::uint32_t { group_healthy, group_poison_begun, group_poison_written };
inline constexpr std::size_t poison_text_max = 1024;

struct group_segment::rank_state {
  alignas(64) std::atomic<std::uint64_t> arrived{0};
  std::atomic<std::uint32_t> left{0};
  group_entry entries[2];
};

struct group_segment::header {
  alignas(64) std::atomic<std::uint32_t> ready{0}; ///< the creator has written all below
  std::uint32_t ranks = 0;
  std::uint64_t slot_bytes = 0;
  std::atomic<std::uint64_t> joined{0};   ///< bit r: rank r
  std::atomic<std::uint32_t> bell{0};     ///< the futex: rises at every change
  std::atomic<std::uint32_t> sleepers{0}; ///< so that nobody rings for an empty house
  std::atomic<std::uint32_t> health{group_healthy};
  char poison_text[poison_text_max] = {};
  rank_state states[group_ranks_max];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free,
              "atomics in shared memory must not need a process's own lock");

} // namespace baton::gpu
