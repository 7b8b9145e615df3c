// May this enter now? Every constraint of boundary 1 that a pool can judge, in one place; each
// refusal says which constraint, what was needed and what was free.
//
// The caller's permission and quota are the router's (membership). What the load will be when the
// prompt has been handed over is load_forecast.hpp's; here is what it is fed with.
#pragma once

#include "protocol/block_pool.hpp"

namespace baton::protocol::pool {

struct admission_verdict {
  failure why;                  ///< none: admitted
  bool would_fit_later = false; ///< it fits an empty pool: waiting makes sense
};

/// Newcomers may not overtake those who wait already; the head of the queue is judged alone.
enum class admission_view : std::uint8_t { newcomer, from_queue };

/// Decode side: room (below), and a deadline that the cost model can meet. `since`: when it asked.
/// A deadline is judged only of somebody who has room or may wait for it.
admission_verdict admit(const state& s, const reserve_request& asked,
                        admission_view view = admission_view::newcomer, instant now = {},
                        instant since = {});

/// Prefill side: room, and the same deadline against the prompts that are ahead in this group.
admission_verdict admit(const state& s, const start_prefill& asked,
                        admission_view view = admission_view::newcomer, instant now = {},
                        instant since = {});

/// Decode side: bytes for prompt + output budget, slots, bytes in flight, quarantine budget, limits
/// of one reservation and of the pool, scripted refusal.
admission_verdict room_for(const state& s, const reserve_request& asked,
                           admission_view view = admission_view::newcomer);

/// Prefill side: source blocks for the whole prompt, quarantine budget, the same limits.
admission_verdict room_for(const state& s, const start_prefill& asked,
                           admission_view view = admission_view::newcomer);

/// What the pool notes of somebody whom it admits.
workload work_of(const form_pool& config, const reserve_request& asked);
workload work_of(const form_pool& config, const start_prefill& asked);

} // namespace baton::protocol::pool
