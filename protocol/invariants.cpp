#include "protocol/invariants.hpp"

namespace baton::protocol {

void verdicts::add(violation v) {
  ++count_;
  if (kept_by_id_[v.id]++ < violations_kept_max)
    kept_.push_back(std::move(v));
}

void look_at(const trace_world& world, const trace_step& step, verdicts& out) {
  using check = void (*)(const trace_world&, const trace_step&, verdicts&);
  static constexpr check all[] = {
    invariants::one_owner,        invariants::no_late_write,    invariants::no_early_free,
    invariants::generations_rise, invariants::commit_needs_all, invariants::one_commit,
    invariants::reads_own_blocks, invariants::frames_in_order,  invariants::only_clean_up,
    invariants::fenced_is_silent, invariants::within_limits,    invariants::conserved,
    invariants::same_schedule,    invariants::source_kept,
    invariants::quiet_on_all_ranks, invariants::plans_no_quiesced_sequence,
    invariants::lost_rank_ends_group, invariants::words_are_judged, invariants::states_agree,
    invariants::lane_begins_once, invariants::evidence_is_heard,
    invariants::offers_are_computed, invariants::stream_breaks_openly,
    invariants::who_ends_tells, invariants::deadline_ends_it, invariants::losses_are_told,
    invariants::placed_on_whole_groups, invariants::writers_end_first,
    invariants::writers_tell_the_truth, invariants::all_lanes_are_open,
    invariants::fresh_pages_are_nobodys,
  };
  for (const check looks : all)
    looks(world, step, out);
}

void look_at_end(const trace_world& world, const trace_ends& ends, verdicts& out) {
  invariants::receipts_were_sent(world, ends, out);
  invariants::every_request_ends(world, ends, out);
  invariants::everything_drains(world, ends, out);
  invariants::schedules_end_together(world, ends, out);
}

} // namespace baton::protocol
