// Everything that transfer devices say to each other, as values and as bytes.
//
//   frame       magic u16 | version u8 | kind u8 | source incarnation 16 | body | check u32
//   descriptor  magic u32 | version u16 | path u8 | incarnation 16 | address | region? | check u32
//
// All numbers are little endian. `check` is the low half of XXH3-64 over the bytes before it: it
// finds damage and truncation, and is no protection against forgery.
#pragma once

#include "protocol/ids.hpp"
#include "protocol/outcome.hpp"
#include "transport/endpoint.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace baton::transport {

/// How pieces travel between two nodes. Both ends must use the same.
enum class path_kind : std::uint8_t { loopback = 1, pull = 2, shared_arena = 3, in_place = 4 };

const char* to_string(path_kind path);

} // namespace baton::transport

namespace baton::transport::wire {

inline constexpr std::uint8_t frame_version = 2;
inline constexpr std::uint16_t descriptor_version = 1;
inline constexpr std::size_t address_bytes_max = 4096;
inline constexpr std::size_t text_bytes_max = 256;
inline constexpr std::size_t frame_bytes_max = 4096;
inline constexpr std::size_t run_pieces_max = 64;
inline constexpr std::size_t announcements_max = 32;

/// A memfd of a process on this host.
struct shared_region {
  std::uint32_t pid = 0;
  std::uint32_t fd = 0;
  std::uint64_t bytes = 0;
  std::uint64_t nonce_high = 0;
  std::uint64_t nonce_low = 0;
};

/// What a peer needs for connect().
struct descriptor {
  path_kind path = path_kind::loopback;
  incarnation life;
  std::vector<std::byte> address;
  std::optional<shared_region> region;
};

/// First words on a channel. Answered only by a node that has itself connected to the sender.
struct hello {
  incarnation to;
  path_kind path = path_kind::loopback;
  bool answer_wanted = false;
};
/// Travels with the bytes of one part of a piece (or of the payload, whose block is all zero).
struct part_header {
  lane_id lane;
  std::uint32_t piece = 0;
  block_ref block;
  std::uint64_t total_bytes = 0;
  std::uint64_t part_offset = 0; ///< a multiple of part_bytes_max
  std::uint64_t part_bytes = 0;
  std::uint64_t part_bytes_max = 0;
  std::optional<std::uint64_t> digest; ///< XXH3-64 of the whole piece
};
/// One whole piece of a run.
struct run_piece {
  std::uint32_t piece = 0;
  block_ref block;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> digest; ///< XXH3-64 of the piece
};
/// Travels with the bytes of whole pieces of one lane, one after the other. The source puts
/// together what is neighbouring in its memory and, by the blocks' numbers, probably at the
/// destination too.
struct run_header {
  lane_id lane;
  std::vector<run_piece> pieces; ///< 1..run_pieces_max; their numbers ascend, so none is repeated
};
/// A piece that the destination may copy from the source's mapped memory; in place, one that the
/// source has written into the destination's.
struct announcement {
  lane_id lane;
  std::uint32_t piece = 0;
  block_ref block;
  strided where; ///< in the source's arena, which in place is the destination's
  std::optional<std::uint64_t> digest;
};
/// Announced together, of any lanes; each is judged by itself.
struct announcements {
  std::vector<announcement> pieces; ///< 1..announcements_max
};
/// Announced pieces were dealt with, one way or the other: `bytes` of the window are free again.
struct taken {
  std::uint64_t bytes = 0;
};
/// The sender is about to close the channel. Only shortens the time until the other side notices.
struct farewell {};
struct receipt {
  lane_id lane;
};
struct stopped {
  lane_id lane;
};
struct query {
  lane_id lane;
};
struct rejected {
  lane_id lane;
  std::uint32_t piece = 0;
  failure error;
};

using message
  = std::variant<hello, part_header, announcements, taken, receipt, stopped, query, rejected,
                 farewell, run_header>;

/// A message and the life that sent it.
struct envelope {
  incarnation from;
  message body;
};

/// Long texts of `rejected` are cut at text_bytes_max, so a frame never exceeds frame_bytes_max.
std::vector<std::byte> encode(const incarnation& from, const message& body);
/// Errors: unsupported (version), bad_input (length, magic, kind, check or a field's range). A list
/// with one wrong entry is refused as a whole.
protocol::outcome<envelope> decode(const std::byte* bytes, std::size_t size);

std::vector<std::byte> encode(const descriptor& d);
/// Errors as decode().
protocol::outcome<descriptor> decode_descriptor(const std::byte* bytes, std::size_t size);

} // namespace baton::transport::wire
