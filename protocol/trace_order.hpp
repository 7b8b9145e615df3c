// One order for the records of all nodes: a message is handled after the one whose handling sent
// it, and each actor handles its messages in its own order; what neither decides, the clock decides
// (all nodes of one host share the monotonic clock).
#pragma once

#include "protocol/trace_source.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace baton::protocol {

/// Finds records by message id.
class cause_index {
public:
  explicit cause_index(const std::vector<trace_key>& keys);

  /// The record of the message that caused record `index`: none for a timer, a device, or a message
  /// that nobody recorded. Of several recipients of one message, the last that began before it.
  std::optional<std::size_t> cause_of(std::size_t index) const;

private:
  const std::vector<trace_key>& keys_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_id_;
};

struct causal_order {
  std::vector<std::uint32_t> records; ///< every record once
  std::size_t contradictions = 0;     ///< the last so many: each caused by a later one of its actor
};

/// O(n log n); about 24 bytes a record.
causal_order order_records(const std::vector<trace_key>& keys, const cause_index& causes);

} // namespace baton::protocol
