// Strided memory: bounds and copies. A piece is a sequence of total_bytes() bytes, whatever the two
// sides' segment sizes are; every function here speaks of positions in that sequence.
#pragma once

#include "transport/endpoint.hpp"

#include <cstddef>
#include <cstdint>

namespace baton::transport {

/// A layout of `bytes` consecutive bytes.
inline strided contiguous(std::uint64_t offset, std::uint64_t bytes) {
  return {offset, bytes, bytes, 1};
}

/// Whether the layout can be used without unpacking.
inline bool is_contiguous(const strided& s) {
  return s.segments == 1 || s.stride == s.segment_bytes;
}

/// Checks that every segment lies in [0, arena_bytes), that segments do not overlap, and that none
/// of the sums overflows. Errors: bad_input, out_of_range; the text names the field.
failure check_bounds(const strided& where, std::uint64_t arena_bytes);

/// A position in a piece, as laid out at `base`.
struct piece_cursor {
  std::byte* base = nullptr;
  strided where;
  std::uint64_t position = 0;
};
struct const_piece_cursor {
  const std::byte* base = nullptr;
  strided where;
  std::uint64_t position = 0;
};

/// Copies `count` bytes. Both layouts must have been checked and hold that many bytes behind their
/// positions. Long runs go past the caches: what is handed over is read much later, if at all by
/// this core.
void copy_piece(piece_cursor to, const_piece_cursor from, std::uint64_t count);

} // namespace baton::transport
