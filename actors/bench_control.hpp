// What control costs when no byte moves: lifecycles of requests, and what a live one holds.
#pragma once

#include <cstdint>

namespace baton::actors::bench {

/// Lifecycles per second of one router, times the messages of one, against raw CAF messages
/// between actors of the same process. Prints its line.
int control(std::uint32_t rounds, std::uint32_t requests);

/// Bytes that each of so many live requests holds in its router's process, against two idle raw CAF
/// actors. Prints its line and ends the process.
int live(std::uint32_t requests);

} // namespace baton::actors::bench
