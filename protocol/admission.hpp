// May this enter now? Every constraint of boundary 1 that the pool itself can judge, in one place;
// each refusal says which constraint, what was needed and what was free.
#pragma once

#include "protocol/block_pool.hpp"

namespace baton::protocol::pool {

struct admission_verdict {
  failure why;                  ///< none: admitted
  bool would_fit_later = false; ///< it fits an empty pool: waiting makes sense
};

/// Newcomers may not overtake those who wait already; the head of the queue is judged alone.
enum class admission_view : std::uint8_t { newcomer, from_queue };

/// Decode side: bytes for prompt + output budget, slots, quarantine budget, scripted refusal.
admission_verdict admit(const state& s, const reserve_request& asked,
                        admission_view view = admission_view::newcomer);

/// Prefill side: source blocks for the whole prompt, quarantine budget.
admission_verdict admit(const state& s, const start_prefill& asked,
                        admission_view view = admission_view::newcomer);

} // namespace baton::protocol::pool
