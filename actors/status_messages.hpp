// What a cluster says of itself when it is asked, and what its links have been measured to give.
#pragma once

#include "protocol/fields.hpp"
#include "protocol/ids.hpp"

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace baton::protocol {

/// Client or person -> router's node guard, which passes it to every node; the asker travels with
/// it.
struct ask_status {
  static constexpr const char* type = "ask_status";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

/// Only recorded, by the router's node when it starts: the path of all lanes, and what it was
/// chosen by. Which transports each channel uses is in each rank's channel_ready.
struct path_chosen {
  std::string path;                  ///< "pull over tcp"
  std::vector<std::string> measured; ///< "shared_arena 9.81 GB/s"; empty: the file required it

  static constexpr const char* type = "path_chosen";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("path", s.path), field("measured", s.measured));
  }
};

/// A destination's transfer device -> its group's pool: what its link has lately given it.
struct link_measured {
  rank_id rank;
  std::uint64_t bytes_per_s = 0;

  static constexpr const char* type = "link_measured";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("rank", s.rank), field("bytes_per_s", s.bytes_per_s));
  }
};

/// A pool's ledger, in blocks.
struct pool_status {
  node_name node;
  group_name group;
  std::uint32_t blocks = 0;
  std::uint32_t free = 0;
  std::uint32_t leased = 0;
  std::uint32_t live = 0;
  std::uint32_t quarantined = 0;
  std::uint32_t slots_used = 0;
  std::uint32_t waiting = 0;
  std::uint64_t block_bytes = 0;
  std::uint64_t link_bytes_per_s = 0; ///< all ranks together; 0: not measured yet
  std::uint64_t leases_expired = 0;   ///< that ended before their hand-off was complete

  static constexpr const char* type = "pool_status";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("node", s.node), field("group", s.group),
                           field("blocks", s.blocks), field("free", s.free),
                           field("leased", s.leased), field("live", s.live),
                           field("quarantined", s.quarantined), field("slots_used", s.slots_used),
                           field("waiting", s.waiting), field("block_bytes", s.block_bytes),
                           field("link_bytes_per_s", s.link_bytes_per_s),
                           field("leases_expired", s.leases_expired));
  }
};

/// What a node says of itself.
struct node_status {
  node_name node;
  std::int64_t actors_open = 0; ///< requests, attempts, reservations, source holds, lanes, feeds
  std::uint64_t bytes_landed = 0; ///< counted at the destination's receive callbacks
  std::uint64_t pieces_refused = 0;
  std::uint64_t pieces_repeated = 0;
  std::string paths; ///< in use to each peer, for people
  bool has_pool = false;
  pool_status pool;

  static constexpr const char* type = "node_status";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("node", s.node), field("actors_open", s.actors_open),
                           field("bytes_landed", s.bytes_landed),
                           field("pieces_refused", s.pieces_refused),
                           field("pieces_repeated", s.pieces_repeated), field("paths", s.paths),
                           field("has_pool", s.has_pool), field("pool", s.pool));
  }
};

} // namespace baton::protocol
