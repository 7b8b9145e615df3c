// The destination's table of grants: what may land, where, and what has landed. Pure bookkeeping:
// it moves no bytes and knows no peer's address.
//
//   piece part:  absent ─▶ arriving ─▶ landed        arriving ─▶ absent when a receive failed
//   lane:        open ─▶ stopping ─▶ ended(stopped)   or   open ─▶ ended(received)
#pragma once

#include "transport/digest.hpp"
#include "transport/endpoint.hpp"
#include "transport/wire.hpp"

#include <deque>
#include <map>
#include <optional>
#include <variant>
#include <vector>

namespace baton::transport {

/// One part of one piece; parts are numbered from 0.
struct part_key {
  lane_id lane;
  std::uint32_t piece = 0;
  std::uint32_t part = 0;
};

/// The part may be received, to bytes [offset, offset + bytes) of the piece.
struct part_accepted {
  part_key key;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
/// The part has landed already or is on its way: nothing to do.
struct part_repeated {};
struct part_refused {
  failure error;
};
using verdict = std::variant<part_accepted, part_repeated, part_refused>;

enum class lane_ending : std::uint8_t { received, stopped };

/// The last lanes that ended, so that a late query is answered right. Bounded: the oldest go first.
class ended_lanes {
public:
  explicit ended_lanes(std::size_t capacity) : capacity_(capacity) {}
  void remember(const lane_id& lane, lane_ending ending);
  std::optional<lane_ending> find(const lane_id& lane) const;

private:
  std::size_t capacity_;
  std::map<lane_id, lane_ending> endings_;
  std::deque<lane_id> order_;
};

/// Where a piece's bytes go in this process: base and layout.
struct landing_place {
  std::byte* base = nullptr;
  strided where;
};

class lane_table {
public:
  static constexpr std::size_t ended_lanes_max = 65536;
  static constexpr std::size_t pieces_per_lane_max = 1U << 20;
  static constexpr std::uint64_t parts_per_piece_max = 65536;

  lane_table(std::byte* arena_base, std::uint64_t arena_bytes, const endpoint_limits& limits,
             integrity check);

  /// Errors: bad_input, out_of_range, duplicate (open or ended before), queue_full (lanes_max),
  /// no_capacity (payload_bytes_max).
  failure admit(lane_grant grant);

  /// The only gate to arena memory: every field of the offer is compared with the grant. A part
  /// that is accepted is `arriving` from here on. Refusals: not_found, stale_incarnation,
  /// out_of_range, stale_generation, bad_input.
  verdict judge(const incarnation& source, const wire::part_header& offered);

  /// For a piece of an open or stopping lane.
  landing_place place_of(const lane_id& lane, std::uint32_t piece);
  block_ref block_of(const lane_id& lane, std::uint32_t piece) const;

  /// A transport operation for this lane has been posted, or has called back with any status.
  void operation_posted(const lane_id& lane);
  void operation_ended(const lane_id& lane);

  /// The part will not come: it may be offered again.
  void forget_part(const part_key& key);
  /// The part's bytes are in place. Returns piece_landed when it was the piece's last,
  /// offer_refused (corrupt) when the piece's digest is wrong, nothing while parts are missing.
  std::optional<std::variant<piece_landed, offer_refused>> land_part(const part_key& key);

  enum class lane_state : std::uint8_t { unknown, open, stopping, received, stopped };
  lane_state state_of(const lane_id& lane) const;
  /// Nothing more is accepted for the lane; one that was not in the table never enters it.
  void begin_stopping(const lane_id& lane);
  /// True when the lane is stopping and no operation is outstanding: it has then left the table.
  bool finish_stopping(const lane_id& lane);
  /// Ends an open lane whose pieces have all landed; asserts that they have.
  void finish_received(const lane_id& lane);

  std::size_t size() const { return lanes_.size(); }

private:
  enum class part_phase : std::uint8_t { absent, arriving, landed };
  enum class lane_phase : std::uint8_t { open, stopping };
  struct piece_progress {
    std::uint64_t part_bytes_max = 0; ///< 0: nothing was accepted yet
    std::uint32_t parts_landed = 0;
    std::vector<part_phase> parts;
    std::optional<std::uint64_t> digest;
  };
  struct lane_record {
    lane_grant grant;
    lane_phase phase = lane_phase::open;
    std::uint64_t operations_outstanding = 0;
    std::uint32_t pieces_landed = 0;
    std::vector<piece_progress> pieces;
    std::vector<std::byte> payload;
  };

  failure compare(const lane_record& lane, const incarnation& source,
                  const wire::part_header& offered) const;
  failure check_parts(const wire::part_header& offered) const;
  failure check_grant(const lane_grant& grant) const;
  failure verify(lane_record& lane, std::uint32_t piece, const piece_progress& progress);
  landing_place place_in(lane_record& lane, std::uint32_t piece);
  static bool piece_complete(const piece_progress& p) {
    return !p.parts.empty() && p.parts_landed == p.parts.size();
  }

  std::byte* arena_base_;
  std::uint64_t arena_bytes_;
  endpoint_limits limits_;
  integrity check_;
  std::map<lane_id, lane_record> lanes_;
  ended_lanes ended_{ended_lanes_max};
};

} // namespace baton::transport
