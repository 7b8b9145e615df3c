// Who is who in a simulated cluster, in 32 bits: cheap to compare, to hash and to keep by millions.
#pragma once

#include "protocol/ids.hpp"

#include <cstdint>
#include <string>

namespace baton::sim {

enum class kind : std::uint8_t { request, attempt, pool, reservation, hold, lane, feed };
inline constexpr std::size_t kinds = 7;

/// One life of one rank group. Group names are "P0", "P1", … and "D0", "D1", …
struct group_life {
  std::uint8_t group = 0; ///< index into the world's groups
  std::uint8_t life = 0;  ///< rises with each restart

  friend bool operator==(group_life a, group_life b) {
    return a.group == b.group && a.life == b.life;
  }
  friend bool operator!=(group_life a, group_life b) { return !(a == b); }
};

/// An actor. `number` is a request's index, an attempt's index * 8 + ordinal, or a pool's number
/// for a reservation or hold; lanes and feeds carry the number of their reservation and both ranks;
/// a feed's `peer` is the life of the destination.
struct address {
  kind what = kind::request;
  group_life home;
  std::uint16_t number = 0;
  std::uint8_t source = 0;
  std::uint8_t destination = 0;
  group_life peer;

  std::uint32_t packed() const {
    return static_cast<std::uint32_t>(what) << 29 | std::uint32_t{home.group} << 26
           | std::uint32_t{home.life} << 24 | std::uint32_t{peer.group} << 21
           | std::uint32_t{peer.life} << 19 | std::uint32_t{number} << 6
           | std::uint32_t{source} << 3 | destination;
  }
  static address unpacked(std::uint32_t v) {
    return {static_cast<kind>(v >> 29),
            {static_cast<std::uint8_t>(v >> 26 & 7), static_cast<std::uint8_t>(v >> 24 & 3)},
            static_cast<std::uint16_t>(v >> 6 & 0x1fff),
            static_cast<std::uint8_t>(v >> 3 & 7),
            static_cast<std::uint8_t>(v & 7),
            {static_cast<std::uint8_t>(v >> 21 & 7), static_cast<std::uint8_t>(v >> 19 & 3)}};
  }
};

/// Bounds of the packing.
inline constexpr std::uint32_t requests_max = 1'000;
inline constexpr std::uint32_t groups_max = 7;
inline constexpr std::uint8_t lives_max = 3;

/// A node: the router, or one rank of one group.
struct node {
  std::uint8_t value = 0; ///< 0: the router; 1 + group * 4 + rank

  friend bool operator==(node a, node b) { return a.value == b.value; }
  friend bool operator!=(node a, node b) { return a.value != b.value; }
};
inline node rank_node(std::uint8_t group, std::uint8_t rank) {
  return {static_cast<std::uint8_t>(1 + group * 4 + rank)};
}

node node_of(const address& a);

/// "attempt 1/2", "reservation D0/3", "lane D0/3 1>0"; `life` is shown from the second on.
std::string to_string(const address& a, std::uint8_t prefill_groups);
std::string group_text(group_life g, std::uint8_t prefill_groups);

protocol::incarnation life_of(group_life g, std::uint8_t rank);
group_life group_life_of(const protocol::incarnation& life);

inline protocol::request_id request_id_of(std::uint16_t index) { return {1, index + 1ULL}; }
inline std::uint16_t index_of(const protocol::request_id& id) {
  return static_cast<std::uint16_t>(id.low - 1);
}
address attempt_address(const protocol::attempt_id& id);
address request_address(const protocol::request_id& id);
address reservation_address(const protocol::reservation_id& id);
address hold_address(const protocol::reservation_id& id);
address lane_address(const protocol::lane_id& id);
address feed_address(const protocol::lane_id& id, group_life source);

} // namespace baton::sim
