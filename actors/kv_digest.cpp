#include "actors/kv_digest.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace baton::actors {

namespace {

/// One head of one plane of one layer, over all blocks of the sequence.
std::uint64_t digest_run(const gpu::geometry& shape, const gpu::kv_arena& arena,
                         const std::vector<protocol::block_id>& blocks, std::uint32_t tokens,
                         std::uint64_t run, std::uint64_t seed) {
  const std::uint64_t token_bytes = std::uint64_t{shape.head_dim} * shape.kv_element_bytes;
  const std::uint64_t run_bytes = token_bytes * shape.block_tokens;
  std::uint64_t digest = seed;
  for (std::uint32_t t = 0; t < tokens; ++t) { // chained by token: independent of the block size
    const std::uint64_t block = blocks.at(t / shape.block_tokens).value;
    const std::byte* from = arena.base + block * gpu::block_bytes(shape) + run * run_bytes
                            + (t % shape.block_tokens) * token_bytes;
    digest = XXH3_64bits_withSeed(from, token_bytes, digest);
  }
  return digest;
}

} // namespace

std::uint64_t kv_digest(const gpu::geometry& shape, const gpu::kv_arena& arena,
                        const std::vector<protocol::block_id>& blocks, std::uint32_t tokens) {
  const std::uint32_t local_heads = shape.kv_heads / shape.tp_degree;
  std::uint64_t digest = 0;
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer)
    for (std::uint32_t plane = 0; plane < 2; ++plane)
      for (std::uint32_t head = 0; head < local_heads; ++head) {
        const std::uint64_t row = std::uint64_t{layer} * 2 + plane;
        const std::uint64_t run = row * local_heads + head;
        const std::uint64_t global = row * shape.kv_heads + shape.tp_rank * local_heads + head;
        digest ^= digest_run(shape, arena, blocks, tokens, run, global + 1);
      }
  return digest;
}

} // namespace baton::actors
