#include "transport/lane_table.hpp"

#include "protocol/assert.hpp"
#include "transport/layout.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace baton::transport {

using protocol::reason;

namespace {

std::string number(std::uint64_t n) {
  return std::to_string(n);
}

failure field_differs(reason why, const char* field, std::uint64_t expected,
                      std::uint64_t offered) {
  return {why, std::string("offer: ") + field + ": expected " + number(expected) + ", offered "
                 + number(offered)};
}

} // namespace

void ended_lanes::remember(const lane_id& lane, lane_ending ending) {
  const auto [at, inserted] = endings_.insert_or_assign(lane, ending);
  (void)at;
  if (!inserted)
    return;
  order_.push_back(lane);
  if (order_.size() > capacity_) {
    endings_.erase(order_.front());
    order_.pop_front();
  }
}

std::optional<lane_ending> ended_lanes::find(const lane_id& lane) const {
  const auto at = endings_.find(lane);
  return at == endings_.end() ? std::nullopt : std::optional(at->second);
}

lane_table::lane_table(std::byte* arena_base, std::uint64_t arena_bytes,
                       const endpoint_limits& limits, integrity check)
  : arena_base_(arena_base), arena_bytes_(arena_bytes), limits_(limits), check_(check) {}

failure lane_table::check_grant(const lane_grant& grant) const {
  if (lanes_.count(grant.lane) != 0 || ended_.find(grant.lane))
    return {reason::duplicate, "grant: lane: already admitted"};
  if (lanes_.size() >= limits_.lanes_max)
    return {reason::queue_full,
            "grant: lanes: all " + number(limits_.lanes_max) + " places are taken"};
  if (grant.pieces.size() > pieces_per_lane_max)
    return {reason::bad_input, "grant: pieces: " + number(grant.pieces.size()) + " is more than "
                                 + number(pieces_per_lane_max)};
  if (grant.payload_bytes > limits_.payload_bytes_max)
    return {reason::no_capacity, "grant: payload_bytes: " + number(grant.payload_bytes)
                                   + " is more than " + number(limits_.payload_bytes_max)};
  if (grant.pieces.empty() && grant.payload_bytes == 0)
    return {reason::bad_input, "grant: pieces: none, and no payload"};
  for (std::size_t i = 0; i < grant.pieces.size(); ++i) {
    failure f = check_bounds(grant.pieces[i].where, arena_bytes_);
    if (f) {
      f.text = "grant: piece " + number(i) + ": " + f.text;
      return f;
    }
  }
  return {};
}

failure lane_table::admit(lane_grant grant) {
  if (failure f = check_grant(grant))
    return f;
  lane_record record;
  record.pieces.resize(grant.pieces.size() + (grant.payload_bytes > 0 ? 1 : 0));
  record.grant = std::move(grant);
  const lane_id lane = record.grant.lane;
  lanes_.emplace(lane, std::move(record));
  return {};
}

failure lane_table::check_parts(const wire::part_header& offered) const {
  if (offered.part_bytes_max == 0
      || (offered.total_bytes - 1) / offered.part_bytes_max >= parts_per_piece_max)
    return {reason::bad_input, "offer: part_bytes_max: more than " + number(parts_per_piece_max)
                                 + " parts"};
  if (offered.part_offset >= offered.total_bytes
      || offered.part_offset % offered.part_bytes_max != 0)
    return {reason::out_of_range, "offer: part_offset: " + number(offered.part_offset)
                                    + " is no part's start"};
  const std::uint64_t expected
    = std::min(offered.part_bytes_max, offered.total_bytes - offered.part_offset);
  if (offered.part_bytes != expected)
    return field_differs(reason::bad_input, "part_bytes", expected, offered.part_bytes);
  return {};
}

failure lane_table::compare(const lane_record& lane, const incarnation& source,
                            const wire::part_header& offered) const {
  if (lane.grant.source != source)
    return {reason::stale_incarnation, "offer: source: expected "
                                         + protocol::to_string(lane.grant.source) + ", offered "
                                         + protocol::to_string(source)};
  if (lane.phase != lane_phase::open)
    return {reason::cancelled, "offer: lane: being revoked"};
  if (offered.piece >= lane.pieces.size())
    return {reason::out_of_range, "offer: piece: " + number(offered.piece) + " of "
                                    + number(lane.pieces.size())};
  const bool is_payload = offered.piece == lane.grant.pieces.size();
  const block_ref block = is_payload ? block_ref{} : lane.grant.pieces[offered.piece].block;
  if (block.block != offered.block.block)
    return field_differs(reason::bad_input, "block", block.block.value, offered.block.block.value);
  if (block.gen != offered.block.gen)
    return field_differs(reason::stale_generation, "generation", block.gen.value,
                         offered.block.gen.value);
  const std::uint64_t total = is_payload ? lane.grant.payload_bytes
                                         : lane.grant.pieces[offered.piece].where.total_bytes();
  if (total != offered.total_bytes)
    return field_differs(reason::bad_input, "total_bytes", total, offered.total_bytes);
  if (is_digested(check_, offered.lane, offered.piece, is_payload) && !offered.digest)
    return {reason::bad_input, "offer: digest: required here, none offered"};
  return check_parts(offered);
}

verdict lane_table::judge(const incarnation& source, const wire::part_header& offered) {
  const auto at = lanes_.find(offered.lane);
  if (at == lanes_.end()) {
    // Everything of a received lane has landed, so a late offer of it is a repetition.
    if (ended_.find(offered.lane) == lane_ending::received)
      return part_repeated{};
    return part_refused{{reason::not_found, "offer: lane: not in the table of grants"}};
  }
  lane_record& lane = at->second;
  if (failure f = compare(lane, source, offered))
    return part_refused{std::move(f)};
  piece_progress& piece = lane.pieces[offered.piece];
  if (piece_complete(piece))
    return part_repeated{};
  if (piece.parts.empty()) {
    piece.part_bytes_max = offered.part_bytes_max;
    piece.parts.resize((offered.total_bytes - 1) / offered.part_bytes_max + 1);
    piece.digest = offered.digest;
  } else if (piece.part_bytes_max != offered.part_bytes_max) {
    return part_refused{field_differs(reason::bad_input, "part_bytes_max", piece.part_bytes_max,
                                      offered.part_bytes_max)};
  } else if (piece.digest != offered.digest) {
    return part_refused{{reason::corrupt, "offer: digest: differs between parts of one piece"}};
  }
  const auto part = static_cast<std::uint32_t>(offered.part_offset / offered.part_bytes_max);
  if (piece.parts[part] != part_phase::absent)
    return part_repeated{};
  piece.parts[part] = part_phase::arriving;
  return part_accepted{{offered.lane, offered.piece, part}, offered.part_offset,
                       offered.part_bytes};
}

landing_place lane_table::place_in(lane_record& lane, std::uint32_t piece) {
  if (piece < lane.grant.pieces.size())
    return {arena_base_, lane.grant.pieces[piece].where};
  lane.payload.resize(lane.grant.payload_bytes);
  return {lane.payload.data(), contiguous(0, lane.grant.payload_bytes)};
}

landing_place lane_table::place_of(const lane_id& lane, std::uint32_t piece) {
  const auto at = lanes_.find(lane);
  BATON_ASSERT(at != lanes_.end() && piece < at->second.pieces.size());
  return place_in(at->second, piece);
}

block_ref lane_table::block_of(const lane_id& lane, std::uint32_t piece) const {
  const auto at = lanes_.find(lane);
  if (at == lanes_.end() || piece >= at->second.grant.pieces.size())
    return {};
  return at->second.grant.pieces[piece].block;
}

void lane_table::operation_posted(const lane_id& lane) {
  ++lanes_.at(lane).operations_outstanding;
}

void lane_table::operation_ended(const lane_id& lane) {
  lane_record& record = lanes_.at(lane);
  BATON_ASSERT(record.operations_outstanding > 0);
  --record.operations_outstanding;
}

void lane_table::forget_part(const part_key& key) {
  const auto at = lanes_.find(key.lane);
  if (at == lanes_.end())
    return;
  piece_progress& piece = at->second.pieces[key.piece];
  BATON_ASSERT(piece.parts[key.part] == part_phase::arriving);
  piece.parts[key.part] = part_phase::absent;
  const auto absent = [](part_phase p) { return p == part_phase::absent; };
  if (std::all_of(piece.parts.begin(), piece.parts.end(), absent))
    piece = {}; // a new offer may be cut differently
}

failure lane_table::verify(lane_record& lane, std::uint32_t piece,
                           const piece_progress& progress) {
  const bool is_payload = piece >= lane.grant.pieces.size();
  if (!is_digested(check_, lane.grant.lane, piece, is_payload))
    return {};
  const landing_place place = place_in(lane, piece);
  const std::uint64_t found = digest_of(place.base, place.where);
  if (found == progress.digest)
    return {};
  const block_ref block = is_payload ? block_ref{} : lane.grant.pieces[piece].block;
  return {reason::corrupt, is_payload ? "payload: digest differs"
                                      : "block " + number(block.block.value) + " generation "
                                          + number(block.gen.value) + ": digest differs"};
}

std::optional<std::variant<piece_landed, offer_refused>>
lane_table::land_part(const part_key& key) {
  lane_record& lane = lanes_.at(key.lane);
  piece_progress& piece = lane.pieces[key.piece];
  BATON_ASSERT(piece.parts[key.part] == part_phase::arriving);
  piece.parts[key.part] = part_phase::landed;
  ++piece.parts_landed;
  if (!piece_complete(piece))
    return std::nullopt;
  if (failure f = verify(lane, key.piece, piece)) {
    piece = {};
    return offer_refused{key.lane, key.piece, std::move(f)};
  }
  ++lane.pieces_landed;
  if (key.piece == lane.grant.pieces.size())
    return piece_landed{key.lane, key.piece, {}, lane.grant.payload_bytes,
                        std::move(lane.payload)};
  const expected_piece& expected = lane.grant.pieces[key.piece];
  return piece_landed{key.lane, key.piece, expected.block, expected.where.total_bytes(), {}};
}

lane_table::lane_state lane_table::state_of(const lane_id& lane) const {
  const auto at = lanes_.find(lane);
  if (at != lanes_.end())
    return at->second.phase == lane_phase::open ? lane_state::open : lane_state::stopping;
  const auto ending = ended_.find(lane);
  if (!ending)
    return lane_state::unknown;
  return *ending == lane_ending::received ? lane_state::received : lane_state::stopped;
}

void lane_table::begin_stopping(const lane_id& lane) {
  const auto at = lanes_.find(lane);
  if (at != lanes_.end())
    at->second.phase = lane_phase::stopping;
  else if (!ended_.find(lane))
    ended_.remember(lane, lane_ending::stopped); // a late admit of it is refused
}

bool lane_table::finish_stopping(const lane_id& lane) {
  const auto at = lanes_.find(lane);
  if (at == lanes_.end() || at->second.phase != lane_phase::stopping
      || at->second.operations_outstanding > 0)
    return false;
  lanes_.erase(at);
  ended_.remember(lane, lane_ending::stopped);
  return true;
}

void lane_table::finish_received(const lane_id& lane) {
  const auto at = lanes_.find(lane);
  BATON_ASSERT(at != lanes_.end());
  BATON_ASSERT(at->second.pieces_landed == at->second.pieces.size());
  BATON_ASSERT(at->second.operations_outstanding == 0);
  lanes_.erase(at);
  ended_.remember(lane, lane_ending::received);
}

} // namespace baton::transport
