#include "protocol/load_forecast.hpp"

#include <algorithm>

namespace baton::protocol {

void load_forecast::hold(const expected_work& work, double held_ms) {
  double& source_free = source_free_ms_[work.source];
  const bool first = source_free == 0.0;
  source_free += first ? std::max(0.0, work.prefill_ms - held_ms) : work.prefill_ms;
  plan(work, work.prefill_ms > 0 ? source_free : 0.0);
}

expected_load load_forecast::enter(const expected_work& work) {
  double& source_free = source_free_ms_[work.source];
  expected_load found;
  found.queue_ms = std::max(room_for(work.charge), source_free);
  source_free = found.queue_ms + work.prefill_ms;
  const double handed_over = source_free + work.transfer_ms;
  found.decoding = static_cast<std::uint32_t>(
    std::count_if(decodes_.begin(), decodes_.end(), [&](const auto& span) {
      return span.first <= handed_over && handed_over < span.second;
    }));
  plan(work, source_free);
  return found;
}

/// A transfer that is larger than the whole budget enters alone.
bool load_forecast::fits(const pool_room& charge) const {
  return charge.blocks <= free_.blocks && charge.slots <= free_.slots
         && (charge.inflight_bytes <= free_.inflight_bytes
             || free_.inflight_bytes >= inflight_bytes_max_);
}

/// Takes the charge at the first moment when it fits; what is never given back is not waited for.
double load_forecast::room_for(const pool_room& charge) {
  while (!fits(charge) && !given_back_.empty()) {
    const auto first = given_back_.begin();
    entered_ms_ = std::max(entered_ms_, first->first);
    free_.blocks += first->second.blocks;
    free_.slots += first->second.slots;
    free_.inflight_bytes
      = std::min(free_.inflight_bytes + first->second.inflight_bytes, inflight_bytes_max_);
    given_back_.erase(first);
  }
  free_.blocks -= std::min(charge.blocks, free_.blocks);
  free_.slots -= std::min(charge.slots, free_.slots);
  free_.inflight_bytes -= std::min(charge.inflight_bytes, free_.inflight_bytes);
  return entered_ms_;
}

void load_forecast::plan(const expected_work& work, double computed_ms) {
  const double handed_over = computed_ms + work.transfer_ms;
  const double end = handed_over + work.decode_ms;
  given_back_.emplace(handed_over, pool_room{0, 0, work.charge.inflight_bytes});
  given_back_.emplace(end, pool_room{work.charge.blocks, work.charge.slots, 0});
  if (work.decode_ms > 0)
    decodes_.emplace_back(handed_over, end);
}

} // namespace baton::protocol
