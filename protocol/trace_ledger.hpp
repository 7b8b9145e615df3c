// Who had which blocks of a pool when, as its pool and the holders of the grants have handled it.
//
//   free ──granted──▶ leased ──mark_live──▶ live ──quarantine_blocks──▶ quarantined
//    ▲                  └────────quarantine_blocks────────────────────▶    │
//    └─────────────────────────────reclaim_blocks──────────────────────────┘
#pragma once

#include "protocol/block_pool.hpp"
#include "protocol/trace_source.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace baton::protocol {

enum class block_condition : std::uint8_t { free, leased, live, quarantined };
inline constexpr std::size_t block_conditions = 4;
const char* to_string(block_condition c);

/// What one grant had. Times are the pool's, in nanoseconds; what is not set did not happen, or is
/// not recorded.
struct block_tenure {
  enum class side : std::uint8_t { destination, source };
  side kind = side::destination;
  reservation_id id; ///< of the reservation, or of the source hold
  attempt_id attempt;
  std::vector<block_ref> blocks;
  std::int64_t granted_ns = 0;
  std::optional<std::int64_t> live_ns;
  std::optional<std::int64_t> quarantined_ns;
  std::optional<std::int64_t> reclaimed_ns;
};

/// One life of a pool.
struct pool_ledger {
  form_pool formed;
  std::uint32_t section = 0;
  std::int64_t formed_ns = 0;
  std::vector<block_tenure> tenures; ///< with blocks, by granted_ns
};

struct trace_ledgers {
  std::vector<pool_ledger> pools;
  std::int64_t begin_ns = 0; ///< of all records
  std::int64_t end_ns = 0;
  std::size_t unreadable = 0;
  failure first_unreadable;
};

/// One pass over all records; unreadable ones are left out and counted.
trace_ledgers read_ledgers(const trace_source& source);

/// A block's condition from one instant to another. `tenure` counts the pool's tenures.
struct block_span {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  block_condition condition = block_condition::free;
  std::optional<std::size_t> tenure; ///< none: free
};

/// For each block of the pool its spans from pool.formed_ns to end_ns, without a gap. Where two
/// grants name a block at once (which trace check calls a breach), the later one is shown.
std::vector<std::vector<block_span>> spans_by_block(const pool_ledger& pool, std::int64_t end_ns);

/// The pool's blocks by condition, from an instant on.
struct ledger_count {
  std::int64_t at_ns = 0;
  std::int64_t blocks[block_conditions] = {};
};

/// From the forming on, one for each instant at which something changed.
std::vector<ledger_count> counts_of(const pool_ledger& pool);

} // namespace baton::protocol
