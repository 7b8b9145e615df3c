// How fast a group's links are, as its ranks have measured them: the ground of its leases.
#pragma once

#include "protocol/ids.hpp"
#include "transport/endpoint.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace baton::actors {

/// One rank's: turns an endpoint's counters into rates, each over enough bytes to mean something.
class rank_link_rate {
public:
  static constexpr std::uint64_t bytes_of_a_measurement = 16ULL << 20;

  /// Bytes per second since the last one that was told; none while too little has moved.
  std::optional<std::uint64_t> look(const transport::endpoint::counters& now);

private:
  std::uint64_t bytes_ = 0;
  std::uint64_t moving_ns_ = 0;
};

/// A group's. Worse news counts at once, better news by half: a lease that is too long costs less
/// than one that is too short.
class link_rate {
public:
  void take(protocol::rank_id rank, std::uint64_t bytes_per_s);
  /// All ranks together, which share the payload equally; 0 until each of `ranks` has measured.
  std::uint64_t bytes_per_s(std::uint32_t ranks) const;

private:
  std::map<protocol::rank_id, std::uint64_t> of_ranks_;
};

} // namespace baton::actors
