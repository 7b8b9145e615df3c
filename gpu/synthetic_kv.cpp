#include "gpu/synthetic_kv.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace baton::gpu {

namespace {

// Odd 64-bit constants without pattern: the golden ratio's and two primes near random numbers.
constexpr std::uint64_t step = 0x9E3779B97F4A7C15;
constexpr std::uint64_t multiplier = 0xD6E8FEB86659FD93;

constexpr std::uint64_t inverse_of(std::uint64_t odd) {
  std::uint64_t inverse = odd; // right in 3 bits; each Newton step doubles them
  for (int i = 0; i < 5; ++i)
    inverse *= 2 - odd * inverse;
  return inverse;
}
static_assert(multiplier * inverse_of(multiplier) == 1);

// One multiplication, because every 8 bytes of every block pass through here.
constexpr std::uint64_t mix_word(std::uint64_t x) {
  x ^= x >> 32;
  x *= multiplier;
  return x ^ (x >> 29);
}

constexpr std::uint64_t unmix_word(std::uint64_t x) {
  x ^= (x >> 29) ^ (x >> 58);
  x *= inverse_of(multiplier);
  return x ^ (x >> 32);
}
static_assert(unmix_word(mix_word(0x0123456789ABCDEF)) == 0x0123456789ABCDEF);

std::uint64_t entry_of(std::int32_t token, std::uint32_t position) {
  return mix_word(static_cast<std::uint32_t>(token) | std::uint64_t{position} << 32);
}

std::vector<std::uint64_t> entries_of(const block_span& span, const std::int32_t* tokens) {
  std::vector<std::uint64_t> entries(span.count);
  for (std::uint32_t i = 0; i < span.count; ++i)
    entries[i] = entry_of(tokens[i], span.position + i);
  return entries;
}

void write_row(std::byte* at, std::size_t words, std::uint64_t row) {
  for (std::size_t w = 0; w < words; ++w) {
    const auto word = mix_word(row + w * step);
    std::memcpy(at + w * sizeof word, &word, sizeof word);
  }
}

bool row_equals(const std::byte* at, std::size_t words, std::uint64_t row) {
  std::uint64_t difference = 0; // no early exit: the loop stays straight
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + w * sizeof word, sizeof word);
    difference |= word ^ mix_word(row + w * step);
  }
  return difference == 0;
}

} // namespace

std::vector<block_span> spans_of(const std::vector<std::uint32_t>& blocks, std::uint32_t start,
                                 std::uint32_t end, std::uint32_t block_tokens) {
  std::vector<block_span> spans;
  for (std::uint32_t position = start; position < end;) {
    const auto slot = position % block_tokens;
    const auto count = std::min(block_tokens - slot, end - position);
    spans.push_back({blocks[position / block_tokens], slot, position, count});
    position += count;
  }
  return spans;
}

std::uint64_t mix(std::uint64_t value) {
  return mix_word(mix_word(value) + step);
}

std::uint64_t context_term(std::int32_t token, std::uint32_t position) {
  return mix(entry_of(token, position));
}

synthetic_kv::synthetic_kv(const geometry& shape, kv_arena arena)
  : shape_(shape), arena_(arena),
    row_words_(std::size_t{shape.head_dim} * shape.kv_element_bytes / sizeof(std::uint64_t)) {}

std::byte* synthetic_kv::rows(const block_span& span, const plane& p) const {
  const std::uint64_t head = (std::uint64_t{p.layer} * 2 + p.kind) * local_heads() + p.head;
  const std::uint64_t row = head * shape_.block_tokens + span.slot;
  return arena_.base + span.block * block_bytes(shape_) + row * row_words_ * sizeof(std::uint64_t);
}

std::uint64_t synthetic_kv::plane_hash(const plane& p) const {
  const std::uint64_t head = std::uint64_t{shape_.tp_rank} * local_heads() + p.head;
  return mix(std::uint64_t{p.layer} << 33 | std::uint64_t{p.kind} << 32 | head);
}

/// Visits planes in memory order until a visit returns false; returns whether none did.
template <class Visit>
bool synthetic_kv::for_each_plane(Visit&& visit) const {
  for (std::uint32_t layer = 0; layer < shape_.layers; ++layer)
    for (std::uint32_t kind = 0; kind < 2; ++kind)
      for (std::uint32_t head = 0; head < local_heads(); ++head)
        if (!visit(plane{layer, kind, head}))
          return false;
  return true;
}

void synthetic_kv::write(const block_span& span, const std::int32_t* tokens) const {
  const auto entries = entries_of(span, tokens);
  for_each_plane([&](const plane& p) {
    auto* at = rows(span, p);
    const auto hash = plane_hash(p);
    for (const auto entry : entries) {
      write_row(at, row_words_, mix_word(entry ^ hash));
      at += row_words_ * sizeof(std::uint64_t);
    }
    return true;
  });
}

protocol::failure synthetic_kv::verify(const block_span& span, const std::int32_t* tokens) const {
  const auto entries = entries_of(span, tokens);
  protocol::failure found;
  for_each_plane([&](const plane& p) {
    const auto* at = rows(span, p);
    const auto hash = plane_hash(p);
    for (std::uint32_t i = 0; i < span.count; ++i) {
      if (!row_equals(at, row_words_, mix_word(entries[i] ^ hash))) {
        found = corrupt(span, p, i, "the bytes are not those of the prompt's token");
        return false;
      }
      at += row_words_ * sizeof(std::uint64_t);
    }
    return true;
  });
  return found;
}

protocol::outcome<std::uint64_t> synthetic_kv::read(const block_span& span) const {
  const plane last{shape_.layers - 1, 1, 0};
  const auto hash = plane_hash(last);
  const auto* at = rows(span, last);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < span.count; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    const auto entry = unmix_word(unmix_word(word)) ^ hash;
    const auto who = unmix_word(entry);
    if (who >> 32 != span.position + i || (who & 0xFFFFFFFF) >= shape_.vocab)
      return corrupt(span, last, i, "the block holds no token of this position");
    sum += mix(entry);
    at += row_words_ * sizeof(std::uint64_t);
  }
  return sum;
}

protocol::failure synthetic_kv::corrupt(const block_span& span, const plane& p, std::uint32_t token,
                                        const char* what) const {
  return {protocol::reason::corrupt,
          "block " + std::to_string(span.block) + ", layer " + std::to_string(p.layer)
            + (p.kind == 0 ? ", k" : ", v") + ", head "
            + std::to_string(shape_.tp_rank * local_heads() + p.head) + ", position "
            + std::to_string(span.position + token) + ": " + what};
}

} // namespace baton::gpu
