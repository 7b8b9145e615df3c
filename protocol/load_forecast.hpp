// The load that a newcomer will find, not only now but when its prompt will have been handed over.
// An estimate for admission, and evidence of nothing.
//
//   room ─▶ source free ─▶ prefill ─▶ transfer ─▶ decode to the budget's end
//   │ blocks, a slot and bytes in flight are taken                      │ blocks and slot come back
//   │                                 in-flight bytes come back │
//
// Three rules, for all who are ahead in their order and then for the newcomer:
// * Room: nobody overtakes. Each takes its charge at the first moment when everybody's predicted
//   ends have given enough back, which is list scheduling (R. L. Graham, "Bounds for Certain
//   Multiprocessing Anomalies", Bell System Technical Journal 45, 1966).
// * Prefill: a source computes one prompt after the other. W' = max(W, arrival) + prefill is the
//   unfinished work of a single server (D. V. Lindley, "The theory of queues with a single server",
//   Proceedings of the Cambridge Philosophical Society 48, 1952).
// * Decode: everybody uses the whole output budget. An end of sequence comes earlier, never later.
#pragma once

#include "protocol/ids.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace baton::protocol {

/// What a hand-off takes from a pool, and what is free in it.
struct pool_room {
  std::uint64_t blocks = 0;
  std::uint32_t slots = 0;
  std::uint64_t inflight_bytes = 0;
};

/// A hand-off as it is expected to go on.
struct expected_work {
  group_name source;     ///< computes the prompt
  double prefill_ms = 0; ///< 0: computed
  double transfer_ms = 0;
  double decode_ms = 0;
  pool_room charge;
};

/// What a newcomer will find. Times count from now.
struct expected_load {
  double queue_ms = 0;        ///< until its prefill begins: room, and prompts that are ahead
  std::uint32_t decoding = 0; ///< others that decode when its prompt has been handed over
};

class load_forecast {
public:
  /// `free` now; `inflight_bytes_max` of a pool where nothing is in flight.
  load_forecast(const pool_room& free, std::uint64_t inflight_bytes_max)
    : free_(free), inflight_bytes_max_(inflight_bytes_max) {}

  /// Somebody who has held the charge for `held_ms`; in the order of the grants. The first of a
  /// source has been computed for so long, the others have waited for it.
  void hold(const expected_work& work, double held_ms);

  /// Somebody who waits for room; in the order of the queue, after all who hold.
  void wait(const expected_work& work) { enter(work); }

  /// The newcomer itself: the last.
  expected_load enter(const expected_work& work);

private:
  bool fits(const pool_room& charge) const;
  double room_for(const pool_room& charge);
  void plan(const expected_work& work, double computed_ms);

  pool_room free_;
  std::uint64_t inflight_bytes_max_;
  double entered_ms_ = 0; ///< when the last one got its room: nobody enters before it
  std::map<group_name, double> source_free_ms_;
  std::multimap<double, pool_room> given_back_;
  std::vector<std::pair<double, double>> decodes_; ///< from, to
};

} // namespace baton::protocol
