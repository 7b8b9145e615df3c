// SIGHUP. UCX's library constructor takes it over, to become talkative, in every program that links
// UCX; a closed terminal would then end nothing.
#pragma once

namespace baton::actors {

/// Gives SIGHUP back the action with which this process was started: to ignore it (nohup), or to
/// end. Call it first in main().
void restore_hang_up();

/// Whoever started this process wants it to survive its terminal.
bool ignores_hang_up();

} // namespace baton::actors
