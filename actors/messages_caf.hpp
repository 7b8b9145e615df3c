// Registers every message that may cross a process border. CAF sends an empty message in place of
// one that it does not know, so all programs of Baton call this one function.
#pragma once

#include "actors/caf_compat.hpp"

namespace baton::actors {

/// How actors are run: two workers, idle ones sleep, and no actor keeps one of them.
void configure_workers(caf::actor_system_config& config);

/// Message types, scheduler and middleman settings (measured: idle CPU 0, no actor keeps a worker,
/// half-open links noticed), and a random node id for this process.
void configure(caf::actor_system_config& config, std::int64_t heartbeat_ms,
               std::int64_t peer_timeout_ms);

} // namespace baton::actors
