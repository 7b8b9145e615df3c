#include "transport/layout.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace baton::transport {

using protocol::reason;

failure check_bounds(const strided& where, std::uint64_t arena_bytes) {
  if (where.segments == 0 || where.segment_bytes == 0)
    return {reason::bad_input, "layout: segments and segment_bytes must not be 0"};
  if (where.segments > 1 && where.stride < where.segment_bytes)
    return {reason::bad_input, "layout: stride " + std::to_string(where.stride)
                                 + " is less than segment_bytes "
                                 + std::to_string(where.segment_bytes)};
  const std::uint64_t gaps = where.segments - 1;
  std::uint64_t span = 0;
  std::uint64_t end = 0;
  if (__builtin_mul_overflow(gaps, where.segments > 1 ? where.stride : 0, &span)
      || __builtin_add_overflow(span, where.segment_bytes, &span)
      || __builtin_add_overflow(span, where.offset, &end) || end > arena_bytes)
    return {reason::out_of_range, "layout: offset " + std::to_string(where.offset)
                                    + " and its segments end past the arena's "
                                    + std::to_string(arena_bytes) + " bytes"};
  return {};
}

namespace {

/// A position in a layout and the bytes left in its segment.
struct run {
  std::uint64_t offset;
  std::uint64_t left;
};

run run_at(const strided& s, std::uint64_t position) {
  const std::uint64_t segment = position / s.segment_bytes;
  const std::uint64_t within = position % s.segment_bytes;
  return {s.offset + segment * s.stride + within, s.segment_bytes - within};
}

} // namespace

void copy_piece(piece_cursor to, const_piece_cursor from, std::uint64_t count) {
  while (count > 0) {
    const run out = run_at(to.where, to.position);
    const run in = run_at(from.where, from.position);
    const std::uint64_t bytes = std::min({out.left, in.left, count});
    std::memcpy(to.base + out.offset, from.base + in.offset, bytes);
    to.position += bytes;
    from.position += bytes;
    count -= bytes;
  }
}

} // namespace baton::transport
