#include "protocol/admission.hpp"

namespace baton::protocol::pool {

namespace {

std::string bytes_text(const form_pool& config, std::uint32_t blocks) {
  return std::to_string(std::uint64_t{blocks} * config.block_bytes) + " bytes ("
         + std::to_string(blocks) + " blocks)";
}

failure over_quarantine(const state& s) {
  if (s.ledger.quarantined <= s.config.quarantine_blocks_max)
    return {};
  return {reason::quarantine_budget,
          s.config.group.value + ": " + bytes_text(s.config, s.ledger.quarantined)
            + " are quarantined without proof, the budget is "
            + bytes_text(s.config, s.config.quarantine_blocks_max)};
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

} // namespace

admission_verdict admit(const state& s, const reserve_request& asked, admission_view view) {
  if (asked.spec.fault.refuse_reservation)
    return {{reason::no_capacity, s.config.group.value + ": refused by the script's fault"}, false};
  if (s.config.decode_slots == 0)
    return {{reason::unsupported, s.config.group.value + " does not decode"}, false};
  if (failure why = over_quarantine(s))
    return {why, true};
  const std::uint32_t needed
    = blocks_needed(s.config, asked.spec.prompt_tokens, asked.spec.output_tokens);
  if (needed > s.ledger.free)
    return lacks_blocks(s, needed, reason::no_capacity, "prompt and output budget");
  if (s.ledger.slots_used >= s.config.decode_slots)
    return {{reason::no_slot, s.config.group.value + ": needs 1 decode slot, all "
                                + std::to_string(s.config.decode_slots) + " are in use"},
            true};
  if (view == admission_view::newcomer && !s.queue.empty())
    return behind_others(s, reason::no_capacity);
  return {};
}

admission_verdict admit(const state& s, const start_prefill& asked, admission_view view) {
  if (asked.granted.in_place) // charged with its reservation; waiting here could block its credit
    return {};
  if (failure why = over_quarantine(s))
    return {why, true};
  const std::uint32_t needed = blocks_needed(s.config, asked.spec.prompt_tokens, 0);
  if (needed > s.ledger.free)
    return lacks_blocks(s, needed, reason::no_source_blocks, "computing the prompt");
  if (view == admission_view::newcomer && !s.queue.empty())
    return behind_others(s, reason::no_source_blocks);
  return {};
}

} // namespace baton::protocol::pool
