// The contract of a transfer device: it moves pieces of KV memory between nodes and proves things
// about them. It knows nothing of requests.
//
// The destination is the mover on every path here: it alone writes its memory, after looking the
// offer up in its own table of grants (admit). No address and no key of the destination leaves it.
//
//   source                              destination
//   offer(lane, piece) ─────offer──────▶ table says yes: receive ─▶ pieces_landed
//                                        table says no: 0 bytes land ─▶ offer_refused (both ends)
//   receipt_arrived   ◀─────receipt───── send_receipt(lane)    all pieces of the lane have landed
//   reader_stopped    ◀─────stopped───── revoke(lane) ─▶ lane_stopped  no receive is outstanding
//   query(lane)       ──────query──────▶ answered by receipt, stopped or nothing yet
#pragma once

#include "protocol/ids.hpp"
#include "protocol/outcome.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace baton::transport {

using protocol::block_ref;
using protocol::failure;
using protocol::incarnation;
using protocol::lane_id;
using protocol::node_name;

/// Where a piece's bytes lie in an arena: `segments` runs of `segment_bytes`, `stride` apart.
/// A whole block has one segment. Source and destination layouts of one piece may differ; only
/// their totals must agree (that is how heads are repartitioned between unequal TP degrees).
struct strided {
  std::uint64_t offset = 0; ///< bytes from the arena's base
  std::uint64_t segment_bytes = 0;
  std::uint64_t stride = 0;
  std::uint32_t segments = 1;

  std::uint64_t total_bytes() const { return segment_bytes * segments; }
};

/// A piece that the destination is willing to receive.
struct expected_piece {
  block_ref block;  ///< the destination's block and its current generation
  strided where;    ///< in the destination's arena
};

/// The destination's own word for one lane, taken from a grant. Pieces are numbered from 0. One
/// further piece, numbered pieces.size(), is the payload (resume state) when payload_bytes > 0: it
/// is not arena memory and arrives as a value.
struct lane_grant {
  lane_id lane;
  incarnation source;
  std::vector<expected_piece> pieces;
  std::uint64_t payload_bytes = 0;
};

/// One piece that the source has finished computing.
struct piece_offer {
  lane_id lane;
  std::uint32_t piece = 0;
  block_ref block; ///< as named by the destination's grant
  strided where;   ///< in the source's arena
};

// ---- events ------------------------------------------------------------------------------------

/// Offers of this lane are received from now on.
struct lane_admitted {
  lane_id lane;
};
/// The piece's bytes are in place and visible to this process (remotely_visible).
struct piece_landed {
  lane_id lane;
  std::uint32_t piece = 0;
  block_ref block;
  std::uint64_t bytes = 0;
  std::vector<std::byte> payload; ///< only for the payload piece
};
/// Destination: one notice for all pieces that landed together, of any lanes, in landing order. It
/// comes before every later event of their lanes.
struct pieces_landed {
  std::vector<piece_landed> pieces; ///< never empty
};
/// Destination: an offer was turned away or its bytes were wrong; nothing of it is counted.
struct offer_refused {
  lane_id lane;
  std::uint32_t piece = 0;
  failure error;
};
/// Destination: after revoke, no receive of this lane is outstanding and none will be posted.
struct lane_stopped {
  lane_id lane;
};
/// Source: the destination said that it has every piece: it reads no more.
struct receipt_arrived {
  lane_id lane;
};
/// Source: the destination said that it stopped (or knows no such lane): it reads no more.
struct reader_stopped {
  lane_id lane;
};
/// Source: the destination turned a piece away.
struct offer_rejected {
  lane_id lane;
  std::uint32_t piece = 0;
  failure error;
};
/// The channel to a peer failed. It proves nothing about that peer's reads or writes.
struct peer_failed {
  node_name peer;
  failure error;
};
/// A connect() has finished; error is none on success.
struct peer_connected {
  node_name peer;
  failure error;
  std::string path; ///< the path in use, for people: "pull posix/cma", "shared_arena", "loopback"
};

using transfer_event
  = std::variant<lane_admitted, pieces_landed, offer_refused, lane_stopped, receipt_arrived,
                 reader_stopped, offer_rejected, peer_failed, peer_connected>;
/// Called on the endpoint's own thread; must not block.
using transfer_sink = std::function<void(transfer_event)>;

/// Bounds of one endpoint. Every queue has a limit.
struct endpoint_limits {
  std::uint64_t inflight_bytes_max = 256ULL << 20; ///< posted receives plus staging, whole node
  std::uint64_t offer_window_bytes = 64ULL << 20;  ///< outstanding offers per peer, source side
  /// Larger pieces move in equal parts, neighbouring smaller ones of a lane move together.
  std::uint64_t message_bytes_max = 2ULL << 20;
  std::uint32_t lanes_max = 16384;
  std::uint64_t payload_bytes_max = 1ULL << 20;
};

/// One node's transfer device. All members may be called from any thread and never block; their
/// results arrive as events. Destruction joins the endpoint's thread after closing every peer.
class endpoint {
public:
  virtual ~endpoint() = default;

  /// Opaque descriptor for peers' connect(): version, incarnation, addresses. Never to be logged.
  virtual std::vector<std::byte> descriptor() const = 0;

  /// Prepares the channel to a peer from its descriptor. Answered by peer_connected.
  virtual void connect(node_name peer, incarnation life, std::vector<std::byte> descriptor) = 0;

  /// Closes the channel to a peer; its lanes stay in the tables until revoked.
  virtual void disconnect(node_name peer) = 0;

  // -- destination --
  /// Enters a lane into the table of grants. Answered by lane_admitted, or offer_refused with
  /// piece = UINT32_MAX when the grant itself is malformed or over a limit.
  virtual void admit(lane_grant grant) = 0;
  /// Removes a lane from the table. Answered by lane_stopped once no receive is outstanding, also
  /// when the peer is dead, stopped or cut off, also for a lane that is not in the table. The
  /// source is told `stopped` as well, if its channel is up.
  virtual void revoke(lane_id lane, node_name source) = 0;
  /// Tells the source that every piece has landed. A query finds it again if it is lost.
  virtual void send_receipt(lane_id lane, node_name source) = 0;

  // -- source --
  /// Offers a finished piece. The memory must stay untouched until receipt_arrived or
  /// reader_stopped of its lane.
  virtual void offer(node_name destination, piece_offer offer) = 0;
  /// Offers the payload piece, numbered `piece`; the bytes are copied.
  virtual void offer_payload(node_name destination, lane_id lane, std::uint32_t piece,
                             std::vector<std::byte> bytes)
    = 0;
  /// Drops offers of this lane that have not been posted yet. Proves nothing: see query.
  virtual void withdraw(lane_id lane, node_name destination) = 0;
  /// Re-asks the destination for the lane's receipt or stop, in case the notice was lost.
  virtual void query(lane_id lane, node_name destination) = 0;

  /// Numbers for status and tests: bytes landed, receives outstanding, lanes in the table.
  struct counters {
    std::uint64_t bytes_landed = 0;
    std::uint64_t moving_ns = 0; ///< while a receive or copy was outstanding: the link's own time
    std::uint64_t receives_outstanding = 0;
    std::uint64_t lanes = 0;
    std::uint64_t offers_refused = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t inflight_bytes_peak = 0; ///< the most that inflight_bytes_max has had to allow
    std::uint64_t arrivals_deferred = 0;   ///< offers that waited for that budget
  };
  virtual counters read_counters() const = 0;
};

} // namespace baton::transport
