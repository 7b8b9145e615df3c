#include "transport/layout.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

// The thread sanitizer does not see streaming stores, and would miss races of the copies.
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)

constexpr std::uint64_t stream_bytes_min = 64 << 10; // less is worth keeping in a cache
constexpr std::uint64_t line_bytes = 64;

/// Whole cache lines, stored past the caches: memcpy would first read each line that it writes.
void stream_lines(std::byte* to, const std::byte* from, std::uint64_t lines) {
  for (; lines > 0; --lines, to += line_bytes, from += line_bytes) {
    const auto* in = reinterpret_cast<const __m128i*>(from);
    auto* out = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(in);
    const __m128i b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2);
    const __m128i d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  _mm_sfence(); // such stores are ordered by nothing else, not even by a lock
}

void copy_run(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes < stream_bytes_min) {
    std::memcpy(to, from, bytes);
    return;
  }
  const std::uint64_t past_line = reinterpret_cast<std::uintptr_t>(to) % line_bytes;
  const std::uint64_t head = past_line == 0 ? 0 : line_bytes - past_line;
  const std::uint64_t lines = (bytes - head) / line_bytes;
  const std::uint64_t done = head + lines * line_bytes;
  std::memcpy(to, from, head);
  stream_lines(to + head, from + head, lines);
  std::memcpy(to + done, from + done, bytes - done);
}

#else

void copy_run(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  std::memcpy(to, from, bytes);
}

#endif

} // namespace

void copy_piece(piece_cursor to, const_piece_cursor from, std::uint64_t count) {
  while (count > 0) {
    const run out = run_at(to.where, to.position);
    const run in = run_at(from.where, from.position);
    const std::uint64_t bytes = std::min({out.left, in.left, count});
    copy_run(to.base + out.offset, from.base + in.offset, bytes);
    to.position += bytes;
    from.position += bytes;
    count -= bytes;
  }
}

} // namespace baton::transport
