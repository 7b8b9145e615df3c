#include "protocol/admission.hpp"

#include "protocol/cost_model.hpp"
#include "protocol/load_forecast.hpp"

#include <algorithm>

namespace baton::protocol::pool {

namespace {

std::string bytes_text(const form_pool& config, std::uint32_t blocks) {
  return std::to_string(std::uint64_t{blocks} * config.block_bytes) + " bytes ("
         + std::to_string(blocks) + " blocks)";
}

// -- limits and room ------------------------------------------------------------------------------

/// A block table beyond this does not fit a grant: it never will.
failure over_one_reservation(const state& s, std::uint32_t needed) {
  if (needed <= limits::blocks_per_reservation_max)
    return {};
  return {reason::no_capacity, s.config.group.value + ": needs " + std::to_string(needed)
                                 + " blocks, one reservation may have at most "
                                 + std::to_string(limits::blocks_per_reservation_max)};
}

failure over_reservations(const state& s) {
  if (s.holdings.size() < limits::reservations_open_max)
    return {};
  return {reason::queue_full, s.config.group.value + ": needs 1 reservation, "
                                + std::to_string(s.holdings.size()) + " are open of "
                                + std::to_string(limits::reservations_open_max)};
}

failure over_quarantine(const state& s) {
  if (s.ledger.quarantined <= s.config.quarantine_blocks_max)
    return {};
  return {reason::quarantine_budget,
          s.config.group.value + ": " + bytes_text(s.config, s.ledger.quarantined)
            + " are quarantined without proof, the budget is "
            + bytes_text(s.config, s.config.quarantine_blocks_max)};
}

/// A hand-off that is larger than the whole budget goes alone: the endpoints move it in windows of
/// their own, so it needs no more memory than a small one, and otherwise nobody could ever ask it.
failure over_inflight(const state& s, std::uint64_t needed) {
  const std::uint64_t in_flight = s.ledger.inflight_bytes;
  const std::uint64_t most = s.config.inflight_bytes_max;
  const std::uint64_t free = most - std::min(most, in_flight);
  if (needed <= free || in_flight == 0)
    return {};
  return {reason::inflight_budget, s.config.group.value + ": needs " + std::to_string(needed)
                                     + " bytes in flight, free are " + std::to_string(free)
                                     + " bytes of " + std::to_string(most)};
}

failure over_slots(const state& s) {
  if (s.ledger.slots_used < s.config.decode_slots)
    return {};
  return {reason::no_slot, s.config.group.value + ": needs 1 decode slot, all "
                             + std::to_string(s.config.decode_slots) + " are in use"};
}

admission_verdict lacks_blocks(const state& s, std::uint32_t needed, reason why,
                               const char* what) {
  const std::string text = s.config.group.value + ": " + what + " needs "
                           + bytes_text(s.config, needed) + ", free are "
                           + bytes_text(s.config, s.ledger.free) + " of "
                           + bytes_text(s.config, s.config.blocks);
  return {{why, text}, needed <= s.config.blocks};
}

admission_verdict behind_others(const state& s, reason why) {
  return {{why, s.config.group.value + ": " + std::to_string(s.queue.size())
                  + " requests wait for room already"},
          true};
}

// -- deadlines ------------------------------------------------------------------------------------

/// The budget decodes with as many neighbours as have a slot now.
double decode_ms(const state& s, const workload& work) {
  return step_ms(s.config.rates, std::max(1U, s.ledger.slots_used)) * work.output_tokens
         + static_cast<double>(work.hold_ms);
}

expected_work expected(const state& s, const workload& work, std::uint32_t blocks, bool decodes) {
  const auto& rates = s.config.rates;
  return {work.source, prefill_ms(rates, work.prompt_tokens),
          transfer_ms(work.inflight_bytes, static_cast<double>(rates.bytes_per_s)),
          decode_ms(s, work), {blocks, decodes ? 1U : 0U, work.inflight_bytes}};
}

/// What is left of a holder's work. A quarantined one only waits for evidence.
expected_work left_of(const state& s, const holding& h, double held_ms) {
  expected_work work
    = expected(s, h.work, static_cast<std::uint32_t>(h.blocks.size()), h.decodes);
  if (h.phase != holding_phase::leased)
    work.prefill_ms = work.transfer_ms = 0.0;
  if (h.phase == holding_phase::live)
    work.decode_ms = std::max(0.0, work.decode_ms - held_ms);
  if (h.phase == holding_phase::quarantined)
    work.decode_ms = 0.0;
  return work;
}

expected_work newcomer(const state& s, const reserve_request& asked) {
  const auto& spec = asked.spec;
  return expected(s, work_of(s.config, asked),
                  blocks_needed(s.config, spec.prompt_tokens, spec.output_tokens), true);
}
expected_work newcomer(const state& s, const start_prefill& asked) {
  return expected(s, work_of(s.config, asked),
                  blocks_needed(s.config, asked.spec.prompt_tokens, 0), false);
}

load_forecast forecast(const state& s, admission_view view, instant now) {
  const auto& l = s.ledger;
  const std::uint64_t most = s.config.inflight_bytes_max;
  load_forecast all({l.free, s.config.decode_slots - std::min(s.config.decode_slots, l.slots_used),
                     most - std::min(most, l.inflight_bytes)},
                    most);
  for (const auto& [number, h] : s.holdings) { // in the order of the grants
    const auto held_ms = static_cast<double>(ms_between(h.since, now));
    all.hold(left_of(s, h, held_ms), held_ms);
  }
  if (view == admission_view::newcomer)
    for (const waiting& w : s.queue)
      std::visit([&](const auto& asked) { all.wait(newcomer(s, asked)); }, w.asked);
  return all;
}

/// `bytes` travel before the first token. A sequence that ignores end marks is sure to need its
/// whole budget; any other may end with the first token.
template <class Asked>
failure infeasible(const state& s, const Asked& asked, std::uint64_t bytes, admission_view view,
                   instant now, instant since) {
  if (asked.deadline_ms == 0)
    return {};
  const auto& rates = s.config.rates;
  const expected_load found = forecast(s, view, now).enter(newcomer(s, asked));
  load_estimate load;
  load.queue_ms = found.queue_ms;
  load.prefill_ms_per_token = prefill_ms(rates, 1);
  load.prefill_chunk_tokens = rates.prefill_chunk_tokens;
  load.bytes_per_s = static_cast<double>(rates.bytes_per_s);
  load.first_step_ms = step_ms(rates, found.decoding + 1);
  if (asked.spec.ignore_eos && asked.spec.output_tokens > 1)
    load.further_steps_ms = load.first_step_ms * (asked.spec.output_tokens - 1);
  failure why = check_deadline(load, asked.spec.prompt_tokens, bytes,
                               left_of_ms(asked.deadline_ms, since, now));
  if (why)
    why.text = s.config.group.value + ": " + why.text;
  return why;
}

template <class Asked>
admission_verdict judge(const state& s, const Asked& asked, std::uint64_t bytes,
                        admission_view view, instant now, instant since) {
  admission_verdict room = room_for(s, asked, view);
  const bool refused = room.why && !(room.would_fit_later && asked.spec.queue_ms > 0);
  if (refused)
    return room;
  if (failure why = infeasible(s, asked, bytes, view, now, since))
    return {why, false};
  return room;
}

} // namespace

workload work_of(const form_pool& config, const reserve_request& asked) {
  const auto& spec = asked.spec;
  const bool in_place = asked.source.group == config.group || config.mapped;
  const std::uint32_t travel = in_place ? 0 : blocks_needed(config, spec.prompt_tokens, 0);
  return {asked.source.group, spec.prompt_tokens, spec.output_tokens, spec.hold_ms,
          travel * config.block_bytes};
}

workload work_of(const form_pool& config, const start_prefill& asked) {
  return {config.group, asked.spec.prompt_tokens, 0, 0, 0};
}

admission_verdict room_for(const state& s, const reserve_request& asked, admission_view view) {
  if (asked.spec.fault.refuse_reservation)
    return {{reason::no_capacity, s.config.group.value + ": refused by the script's fault"}, false};
  if (s.config.decode_slots == 0)
    return {{reason::unsupported, s.config.group.value + " does not decode"}, false};
  const std::uint32_t needed
    = blocks_needed(s.config, asked.spec.prompt_tokens, asked.spec.output_tokens);
  if (failure why = over_one_reservation(s, needed))
    return {why, false};
  if (failure why = over_quarantine(s))
    return {why, true};
  if (failure why = over_reservations(s))
    return {why, true};
  if (needed > s.ledger.free)
    return lacks_blocks(s, needed, reason::no_capacity, "prompt and output budget");
  if (failure why = over_slots(s))
    return {why, true};
  if (failure why = over_inflight(s, work_of(s.config, asked).inflight_bytes))
    return {why, true};
  if (view == admission_view::newcomer && !s.queue.empty())
    return behind_others(s, reason::no_capacity);
  return {};
}

admission_verdict room_for(const state& s, const start_prefill& asked, admission_view view) {
  if (asked.granted.in_place) // charged with its reservation; waiting here could block its credit
    return {};
  const std::uint32_t needed = blocks_needed(s.config, asked.spec.prompt_tokens, 0);
  if (failure why = over_one_reservation(s, needed))
    return {why, false};
  if (failure why = over_quarantine(s))
    return {why, true};
  if (failure why = over_reservations(s))
    return {why, true};
  if (needed > s.ledger.free)
    return lacks_blocks(s, needed, reason::no_source_blocks, "computing the prompt");
  if (view == admission_view::newcomer && !s.queue.empty())
    return behind_others(s, reason::no_source_blocks);
  return {};
}

admission_verdict admit(const state& s, const reserve_request& asked, admission_view view,
                        instant now, instant since) {
  return judge(s, asked, work_of(s.config, asked).inflight_bytes, view, now, since);
}

admission_verdict admit(const state& s, const start_prefill& asked, admission_view view,
                        instant now, instant since) {
  if (asked.granted.in_place && !asked.granted.mapped) // judged with its reservation
    return {};
  const std::uint64_t travel = asked.granted.in_place ? 0 : asked.granted.prompt_blocks;
  return judge(s, asked, travel * s.config.block_bytes, view, now, since);
}

} // namespace baton::protocol::pool
