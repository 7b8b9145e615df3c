// A digest of a sequence's KV bytes that does not depend on where they lie: for tests of agreement.
#pragma once

#include "gpu/device.hpp"
#include "protocol/ids.hpp"

#include <vector>

namespace baton::actors {

/// XOR over (layer, plane, global KV head) of a hash of that run's bytes for positions [0, tokens),
/// seeded with the run's name. The XOR over a group's ranks is therefore equal for every TP degree
/// and block table. The blocks must not be written meanwhile.
std::uint64_t kv_digest(const gpu::geometry& shape, const gpu::kv_arena& arena,
                        const std::vector<protocol::block_id>& blocks, std::uint32_t tokens);

} // namespace baton::actors
