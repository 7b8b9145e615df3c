// Every bound of the system, with its unit last in its name and its reason beside it (I11).
#pragma once

#include <cstdint>

namespace baton::protocol::limits {

// -- messages and files ---------------------------------------------------------------------------

/// A control message never carries payload; what is larger is a mistake or an attack. The largest
/// is open_feed, with two tables of blocks_per_reservation_max entries.
inline constexpr std::uint64_t control_message_bytes_max = 128 * 1024;
/// The longest prompt: two of the teaching request.
inline constexpr std::uint32_t prompt_tokens_max = 16'384;
/// Only submissions and prefill plans carry token ids, four bytes each, beside a control message.
inline constexpr std::uint64_t prompt_message_bytes_max
  = prompt_tokens_max * 4ULL + control_message_bytes_max;
/// Floats in one message: the logits of a 256 Ki vocabulary.
inline constexpr std::uint32_t packed_floats_max = 256 * 1024;
/// A cluster of groups_max groups written with every field is below 100 KiB.
inline constexpr std::uint64_t cluster_file_bytes_max = 1024 * 1024;
/// Room for script_requests_max requests of some hundred bytes.
inline constexpr std::uint64_t script_file_bytes_max = 64ULL * 1024 * 1024;
/// Names appear in every log line and trace record.
inline constexpr std::uint32_t name_characters_max = 64;

// -- requests -------------------------------------------------------------------------------------

/// An output budget is reserved in full, so it is bounded like the prompt.
inline constexpr std::uint32_t output_tokens_max = 16'384;
/// Open requests of one router, all tenants together: each is a few actors.
inline constexpr std::uint32_t requests_open_max = 1'024;
/// Default share of one tenant, so that one cannot fill the router alone by mistake.
inline constexpr std::uint32_t tenant_requests_open_default = 64;
/// First try and three retries: more would multiply load when the cluster is in trouble.
inline constexpr std::uint32_t attempts_per_request_max = 4;
/// A request that names no deadline ends here: no wait is without a bound.
inline constexpr std::int64_t request_deadline_ms_default = 600'000;
/// Longest deadline or script wait: one hour.
inline constexpr std::int64_t deadline_ms_max = 3'600'000;
/// One script: the soak has 10,000.
inline constexpr std::uint32_t script_requests_max = 100'000;

// -- groups and memory ----------------------------------------------------------------------------

inline constexpr std::uint32_t groups_max = 64; ///< the router asks each one per placement
/// The degrees shown to be bit-identical are 1, 2 and 4.
inline constexpr std::uint32_t ranks_per_group_max = 4;
/// One lane for each pair of ranks.
inline constexpr std::uint32_t lanes_per_reservation_max
  = ranks_per_group_max * ranks_per_group_max;
/// A block table entry is 12 bytes in a grant: two tables of 4,096 fit a control message.
inline constexpr std::uint32_t blocks_per_reservation_max = 4'096;
inline constexpr std::uint32_t pool_blocks_max = 1U << 22; ///< 64 Mi tokens of 16-token blocks
inline constexpr std::uint32_t block_tokens_max = 256; ///< a rounded-up tail wastes at most this
inline constexpr std::uint32_t decode_slots_max = 64;  ///< sequences in one decode step
inline constexpr std::uint32_t decode_slots_default = 8;
inline constexpr std::uint32_t prefill_chunk_tokens_max = 4'096; ///< bounds one plan's run time
inline constexpr std::uint32_t prefill_chunk_tokens_default = 64;
/// Blocks without proof that their writer has stopped; past this share of the pool the group
/// refuses new reservations (fail closed).
inline constexpr std::uint32_t quarantine_percent_max = 25;
/// Reservations of one pool, live and draining.
inline constexpr std::uint32_t reservations_open_max = 1'024;

// -- queues ---------------------------------------------------------------------------------------

/// Attempts that wait in a group for prefill; past it placement says queue_full.
inline constexpr std::uint32_t prefill_queue_max = 256;
/// Bytes being moved on one node, and bytes offered on one lane: back-pressure, not deadlock (H3).
inline constexpr std::uint64_t inflight_bytes_default = 256ULL * 1024 * 1024;
inline constexpr std::size_t path_costs_max = 16; ///< paths times transports
inline constexpr std::uint64_t offer_window_bytes_default = 64ULL * 1024 * 1024;
/// Trace records that a node may have unwritten; past it records are lost, and the file says how
/// many.
inline constexpr std::uint32_t trace_records_unwritten_max = 65'536;

// -- leases ---------------------------------------------------------------------------------------

/// Shorter than this and scheduling noise alone expires it.
inline constexpr std::int64_t lease_ms_min = 200;
/// Longer than this and a lost prefiller holds decode memory for too long.
inline constexpr std::int64_t lease_ms_max = 60'000;
/// Assumed until a link is measured: what one core copies on a slow host.
inline constexpr std::uint64_t assumed_bytes_per_s = 500'000'000;
/// Assumed until a group is measured: a slow CPU's prefill. The lease counts from the grant, so
/// that computing the prompt is inside it.
inline constexpr std::int64_t assumed_prefill_us_per_token = 2'000;
/// Assumed until a group is measured: one token of one sequence of a step. The same CPU reads all
/// weights for it, as for a token of the prompt.
inline constexpr std::int64_t assumed_decode_us_per_token = 2'000;
/// A slower group than this is not one: bounds what a cluster file may assume.
inline constexpr std::int64_t cost_us_per_token_max = 10'000'000;
/// A lease is this many times the estimate of prefill and transfer.
inline constexpr std::int64_t lease_safety_factor = 4;
/// Source blocks kept after `received`, for a cheap retransmission.
inline constexpr std::int64_t retention_ms_max = 60'000;

// -- waits: at the bound the state is asked again, or the attempt ends ----------------------------

inline constexpr std::int64_t heartbeat_ms_default = 500;
/// A busy host delays heartbeats by seconds; a dead process is noticed at once, by other means.
inline constexpr std::int64_t peer_timeout_ms_default = 5'000;
inline constexpr std::int64_t peer_timeout_ms_max = 60'000;
/// A scripted request that does not say how long it may wait for room in a pool.
inline constexpr std::int64_t queue_ms_default = 10'000;
/// Evidence of a lane or feed, a manifest's answer: at the bound it is asked for again, and blocks
/// stay where they are.
inline constexpr std::int64_t evidence_wait_ms_max = 500;
/// A writer that has this node's memory mapped and was asked whether it has stopped: longer than a
/// chunk of a prompt takes. At the bound its pages are replaced, and that life writes here no more.
inline constexpr std::int64_t writer_wait_ms_max = 10'000;
/// An attempt's question: at the bound it is asked again. Longer than a busy host's pauses.
inline constexpr std::int64_t answer_wait_ms_max = 1'000;
/// A request whose attempt is done: at the bound missing frames are lost, and it is interrupted.
inline constexpr std::int64_t frames_wait_ms_max = 1'000;
/// forming, rebuilding: all ranks of a group must have joined.
inline constexpr std::int64_t group_form_wait_ms_max = 30'000;
/// A shutdown waits this long for evidence before it names what is left.
inline constexpr std::int64_t shutdown_wait_ms_max = 10'000;

} // namespace baton::protocol::limits
