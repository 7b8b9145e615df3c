#include "actors/kv_digest.hpp"

#define XXH_INLINE_ALL
#include <algorithm>
#include <xxhash.h>

namespace baton::actors {

namespace {

/// One head of one plane of one layer, over all blocks of the sequence.
std::uint64_t digest_run(const gpu::geometry& shape, const gpu::kv_arena& arena,
                         const std::vector<protocol::block_id>& blocks, std::uint32_t tokens,
                         std::uint64_t run, std::uint64_t seed) {
  const std::uint64_t token_bytes = std::uint64_t{shape.head_dim} * shape.kv_element_bytes;
  const std::uint64_t run_bytes = token_bytes * shape.block_tokens;
  XXH3_state_t state;
  XXH3_64bits_reset_withSeed(&state, seed);
  for (std::uint32_t done = 0; done < tokens; done += shape.block_tokens) {
    const std::uint32_t count = std::min(tokens - done, shape.block_tokens);
    const std::uint64_t block = blocks.at(done / shape.block_tokens).value;
    const std::byte* from = arena.base + block * gpu::block_bytes(shape) + run * run_bytes;
    XXH3_64bits_update(&state, from, count * token_bytes);
  }
  return XXH3_64bits_digest(&state);
}

} // namespace

std::uint64_t kv_digest(const gpu::geometry& shape, const gpu::kv_arena& arena,
                        const std::vector<protocol::block_id>& blocks, std::uint32_t tokens) {
  const std::uint32_t local_heads = shape.kv_heads / shape.tp_degree;
  std::uint64_t digest = 0;
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer)
    for (std::uint32_t plane = 0; plane < 2; ++plane)
      for (std::uint32_t head = 0; head < local_heads; ++head) {
        const std::uint64_t run = (std::uint64_t{layer} * 2 + plane) * local_heads + head;
        const std::uint64_t global
          = (std::uint64_t{layer} * 2 + plane) * shape.kv_heads + shape.tp_rank * local_heads + head;
        digest ^= digest_run(shape, arena, blocks, tokens, run, global + 1);
      }
  return digest;
}

} // namespace baton::actors
