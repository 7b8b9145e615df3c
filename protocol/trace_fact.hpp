// The messages that the invariants look at, decoded from records once.
#pragma once

#include "protocol/attempt.hpp"
#include "protocol/membership.hpp"
#include "protocol/messages_mapped.hpp"
#include "protocol/messages_transfer.hpp"
#include "protocol/reservation.hpp"
#include "protocol/source_hold.hpp"
#include "protocol/trace_source.hpp"

#include <variant>

namespace baton::protocol {

/// What the invariants need of a compute device's word that a plan's kernels have ended.
struct ended_plan {
  step_number step;

  static constexpr const char* type = "plan_ended";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("step", s.step));
  }
};

/// Prompts are dropped after decoding: they are long and redacted anyway.
using trace_fact
  = std::variant<std::monostate, form_pool, begin_reservation, begin_hold, manifest_offered,
                 open_lane, open_feed, piece_landed, receives_quiesced, lane_landed, lane_stopped,
                 lane_lost, feed_received, feed_stopped, sequence_quiesced, reclaim_blocks, commit,
                 claim_commit, commit_claimed, commit_abandoned, attempt_failed,
                 reservation_reclaimed, open_request, activate_sequence, token_emitted,
                 submit_request, frame_forwarded, request_ended, group_lost, run_step, poison_rank,
                 step_completed, step_failed, rank_lost, source_ready, reserve_granted,
                 prefill_accepted, source_released, reservation_quarantined, revoke_reservation,
                 cancel_source, deadline_reached, expect_cluster, node_joined, node_lost,
                 place_attempt, attempt_placed, attempt_drained, lane_opened, lane_admitted,
                 stop_lane, writer_stopped, process_reaped, pages_replaced, ended_plan>;

/// One record in causal order, as the invariants get it.
struct trace_step {
  std::size_t index = 0;
  const trace_record& record;
  const trace_key& key;
  const trace_section& section;
  const trace_fact& fact;
  std::optional<std::uint32_t> sender_section; ///< life that sent the message

  bool at(const char* machine) const { return record.machine == machine; }
  bool at_client() const { return section.header.node.value == client_node; }
  /// True when the handling had this effect.
  bool did(const char* effect) const;
};

/// monostate for messages that no invariant looks at; bad_input for one whose fields do not read.
outcome<trace_fact> decode(const trace_record& record);

} // namespace baton::protocol
