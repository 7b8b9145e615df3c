// Every actor of a node: how it is started, what it takes and what it says. The message types are
// in protocol/messages_*.hpp; each travels as (message_header, handle, message).
//
//   client ─▶ router ─▶ request ─▶ attempt ─┬─▶ pool(D) ─▶ reservation ─▶ lane ⇄ transfer device
// ══╗
//                                           └─▶ pool(P) ─▶ source hold ─▶ feed ⇄ transfer device
// ══╝
//             reservation ─▶ rank group(D) ⇄ compute devices      source hold ─▶ rank group(P)
//
// An actor is started by the one that owns it, and its first message opens its machine.
#pragma once

#include "actors/node_context.hpp"
#include "actors/status_messages.hpp"
#include "gpu/device.hpp"
#include "gpu/tokenizer.hpp"
#include "protocol/block_pool.hpp"
#include "protocol/cluster_config.hpp"
#include "protocol/messages_transfer.hpp"
#include "transport/arena.hpp"
#include "transport/endpoint.hpp"

#include <functional>
#include <memory>

namespace baton::actors {

// ---- the router's node

/// What the router reads prompts with: the one owner of tokenisation.
struct prompt_reader {
  std::shared_ptr<const gpu::tokenizer> tokenizer; ///< null: no text, token ids only
  std::uint32_t vocab = 0;
  std::uint32_t max_positions = 0;
};

/// Takes submit_request, cancel_request (client); place_attempt, attempt_drained (attempt);
/// request_gone (request); node_joined, node_lost (node guards). Machine: membership.
/// Says request_accepted or request_ended{refused}; attempt_placed, place_refused; group_lost.
/// `on_formed` is called once, when every rank has joined.
handle spawn_router(caf::actor_system& system, node_context& node, prompt_reader reader,
                    std::function<void()> on_formed);

/// Takes open_request (router), cancel_request, claim_commit, commit_abandoned, attempt_failed,
/// attempt_drained, phase_entered (attempt), token_emitted (decode group). Machine: request.
/// Says frame_forwarded, request_ended, phase_entered to the client.
handle spawn_request(caf::actor_system& system, node_context& node,
                     const protocol::request_id& request, handle router, handle client,
                     std::shared_ptr<const protocol::token_list> prompt,
                     std::unique_ptr<gpu::text_stream> text);

/// Takes start_attempt, cancel_attempt (request) and the answers of both pools, the reservation and
/// the source hold. Machine: attempt.
handle spawn_attempt(caf::actor_system& system, node_context& node,
                     const protocol::attempt_id& attempt, handle request, handle router,
                     std::shared_ptr<const protocol::token_list> prompt);

// ---- a group leader's node

/// Takes form_pool, then reserve_request, start_prefill, withdraw_attempt (attempt; the request
/// travels with the first), mark_live, quarantine_blocks, reclaim_blocks (reservation, hold).
/// Passes on what other nodes say to its holders: commit, revoke_reservation, query_reservation,
/// cancel_source, query_source (attempt), manifest_offered (source hold, which travels with it);
/// and answers for holders that are gone. Machine: pool. Starts reservations and source holds.
/// Answers ask_status.
handle spawn_pool(caf::actor_system& system, node_context& node);

/// Takes begin_reservation (pool) and everything of protocol/reservation.hpp. `attempt`: whom to
/// answer. `request`: where tokens go.
handle spawn_reservation(caf::actor_system& system, node_context& node,
                         const protocol::open_reservation& opened, handle pool, handle attempt,
                         handle request);

/// Takes begin_hold (pool) and everything of protocol/source_hold.hpp.
handle spawn_source_hold(caf::actor_system& system, node_context& node,
                         const protocol::open_hold& opened, handle pool, handle attempt,
                         handle reservation);

/// Takes form_group, rank_joined, rank_lost (node guard); submit_prefill, activate_sequence,
/// cancel_sequence (source hold, reservation; the request travels with activate_sequence);
/// step_completed, step_failed, kv_digested (compute devices). Machine: rank_group.
handle spawn_rank_group(caf::actor_system& system, node_context& node);

// ---- every rank's node

/// Owns the rank's compute device. Takes begin_sequence, end_sequence, run_step, poison_rank,
/// digest_kv (group leader), keep_resume, forget_attempt, watch_sequence, end_writing. Says
/// step_completed, step_failed, kv_digested to the leader and source_ready to watching feeds; in
/// place sequence_ended and writing_ended to its node's transfer device.
struct compute_setup {
  gpu::geometry shape;
  gpu::kv_arena arena;
  std::vector<std::int32_t> eos;
  bool verifies_context = false; ///< synthetic: give the prompt with the first decode step
  bool writes_mapped = false;    ///< the arena is another rank's: its transfer device hears of ends
  gpu::device* device = nullptr; ///< outlives the actor; its events come through a device_port
};
handle spawn_compute_device(caf::actor_system& system, node_context& node, compute_setup setup);

/// Owns the node's endpoint. Takes open_lane, ask_lane, stop_lane (reservation), open_feed,
/// ask_feed, withdraw_feed (source hold), the commands of lanes and feeds, connect_peer and
/// process_reaped (node guard). Starts lanes and feeds, and passes them what the endpoint says has
/// happened. In place it speaks to its peer about the writers of lanes (messages_mapped.hpp).
struct transfer_setup {
  protocol::block_shape shape;
  std::uint32_t tp_degree = 1;
  std::uint64_t block_bytes = 0; ///< of one block in this rank's arena
  transport::endpoint* endpoint = nullptr; ///< outlives the actor, like the device
  transport::arena* memory = nullptr;      ///< as well
  bool maps_peer = false; ///< it is a window, for the arena of the same rank of the other group
};
handle spawn_transfer_device(caf::actor_system& system, node_context& node, handle compute,
                             transfer_setup setup);

/// Takes open_lane and stop_lane (passed on by the transfer device) and the device's events.
/// Machine: lane.
handle spawn_lane(caf::actor_system& system, node_context& node, const protocol::open_lane& opened,
                  handle reservation, handle transfer);

/// Takes open_feed and withdraw_feed (passed on), source_ready, the device's events. Machine: feed.
handle spawn_feed(caf::actor_system& system, node_context& node, const protocol::open_feed& opened,
                  handle hold, handle transfer, handle compute);

} // namespace baton::actors
