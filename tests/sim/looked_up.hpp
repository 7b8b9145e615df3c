// Numbers that follow from one or two others, as the number of a message that a device says follows
// from who it is and what it has: worked out once and looked up afterwards, for to write a value
// down and find its number takes longer than a machine's step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace baton::sim {

/// What follows, and from what.
enum class follows : std::uint8_t {
  open_request,      ///< message: request, its plan
  form_pool,         ///< message: group, life
  attempt_placed,    ///< message: attempt, groups and lives
  lane_admitted,     ///< message: lane
  receives_quiesced, ///< message: lane
  piece_landed,      ///< message: lane, table of its blocks and piece
  receipt_arrived,   ///< message: feed
  reader_stopped,    ///< message: feed
  offer_rejected,    ///< message: feed
  lane_blocks,       ///< table of blocks: lane's state
  feed_blocks,       ///< table of blocks: feed's state
  sequence_blocks,   ///< table of blocks: pool's state, work
  granted_blocks,    ///< table of blocks: hold's state
  source_ready,      ///< message: feed's state
  prefill_computed,  ///< message: sequence
  prefill_quiesced,  ///< message: sequence
  decode_quiesced,   ///< message: sequence
  token_emitted,     ///< message: work, tokens so far
  sequence_finished, ///< message: work
  receipt_floor,     ///< floor: floor, feed's state
  lane_floor,        ///< floor: floor, message
  lane_answer,       ///< message + 1, or 0: floor, message
  feed_floor,        ///< floor: floor, message
  feed_answer,       ///< message + 1, or 0: floor, message
};

class looked_up {
public:
  looked_up() : slots_(1U << 10) {}

  template <class Make>
  std::uint32_t get(follows what, std::uint32_t a, std::uint32_t b, const Make& make) {
    const key k{a, b, what};
    const slot& known = slots_[slot_of(k)];
    if (known.taken)
      return known.value;
    const std::uint32_t value = make();
    if (++size_ * 2 > slots_.size())
      grow();
    slots_[slot_of(k)] = {k, true, value};
    return value;
  }

private:
  struct key {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    follows what = follows::open_request;
  };
  struct slot {
    key of{};
    bool taken = false;
    std::uint32_t value = 0;
  };

  /// Where it is, or where it would be put.
  std::size_t slot_of(const key& k) const {
    std::uint64_t h = (std::uint64_t{k.a} << 32 | k.b) * 0x9e3779b97f4a7c15ULL;
    h = (h ^ h >> 32 ^ static_cast<std::uint64_t>(k.what)) * 0xbf58476d1ce4e5b9ULL;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (h ^ h >> 32) & mask;
    const auto is_other = [&](const slot& s) {
      return s.taken && (s.of.a != k.a || s.of.b != k.b || s.of.what != k.what);
    };
    while (is_other(slots_[at]))
      at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const slot& s : old)
      if (s.taken)
        slots_[slot_of(s.of)] = s;
  }

  std::vector<slot> slots_; ///< open addressing
  std::size_t size_ = 0;
};

} // namespace baton::sim
