// KV bytes without a model: every 8 bytes are a hash of what a real KV entry would depend on, so
// that whoever was handed them can tell that they are the right ones, all of them.
//
//   entry  = mix(token | position << 32)                 who
//   row    = mix(entry ^ plane(layer, k|v, kv_head))     where: one head of one token
//   word w = mix(row + w * step)                         head_dim * element bytes / 8 words a row
//
// mix is a bijection, so one word gives its token and position back: reading it is the synthetic
// attention. kv_head counts over the whole model, so groups of different TP degrees agree.
#pragma once

#include "gpu/device.hpp"
#include "protocol/outcome.hpp"

#include <cstdint>
#include <vector>

namespace baton::gpu {

/// Neighbouring tokens of one sequence inside one block.
struct block_span {
  std::uint32_t block = 0;    ///< physical
  std::uint32_t slot = 0;     ///< of the first token in the block
  std::uint32_t position = 0; ///< of the first token in the sequence
  std::uint32_t count = 0;
};

/// Positions [start, end) of a sequence, block by block. `blocks` must cover `end` positions.
std::vector<block_span> spans_of(const std::vector<std::uint32_t>& blocks, std::uint32_t start,
                                 std::uint32_t end, std::uint32_t block_tokens);

/// What one token adds to the hash of its context. The sum over a context decides what follows.
std::uint64_t context_term(std::int32_t token, std::uint32_t position);

/// 64 bits of hash; a bijection.
std::uint64_t mix(std::uint64_t value);

/// One rank's synthetic KV blocks in an arena, layout as in block_bytes().
class synthetic_kv {
public:
  /// head_dim * kv_element_bytes must be a multiple of 8, and the arena aligned to 8 bytes.
  synthetic_kv(const geometry& shape, kv_arena arena);

  /// Writes every KV byte of `span.count` tokens on this rank.
  void write(const block_span& span, const std::int32_t* tokens) const;

  /// Checks every KV byte of the span against its tokens. corrupt: names block, layer, head and
  /// position of the first difference, in memory order.
  protocol::failure verify(const block_span& span, const std::int32_t* tokens) const;

  /// Reads one word a token, as attention would, and returns the sum of their context terms.
  /// corrupt: the word is no token of this position, so the block holds something else.
  protocol::outcome<std::uint64_t> read(const block_span& span) const;

private:
  /// One head's rows of one layer's keys or values in a block.
  struct plane {
    std::uint32_t layer = 0;
    std::uint32_t kind = 0; ///< 0: k, 1: v
    std::uint32_t head = 0; ///< on this rank
  };

  std::uint32_t local_heads() const { return shape_.kv_heads / shape_.tp_degree; }
  std::byte* rows(const block_span& span, const plane& p) const;
  std::uint64_t plane_hash(const plane& p) const;
  protocol::failure corrupt(const block_span& span, const plane& p, std::uint32_t token,
                            const char* what) const;
  template <class Visit>
  bool for_each_plane(Visit&& visit) const;

  geometry shape_;
  kv_arena arena_;
  std::size_t row_words_;
};

} // namespace baton::gpu
