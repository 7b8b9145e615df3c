// What a hand-off costs when no byte of KV moves, in clusters of real processes.
#pragma once

#include <cstdint>
#include <string>

namespace baton::actors::bench {

/// Median milliseconds from the question for a reservation to the commit, of prompts of one token,
/// one after the other, against one raw CAF round trip between two processes. `path`: "pull" or
/// "in_place". Prints its line.
int hand_shake(const std::string& path, std::uint32_t ranks, std::uint32_t rounds);

/// Median milliseconds from the end of a prompt of 8,192 tokens (2.5 GiB), as its source hears of
/// it, to its commit on path in_place, against the same. Prints its line.
int in_place(std::uint32_t rounds);

} // namespace baton::actors::bench
