// `baton up` and `baton down`: the nodes of this host, started, watched and stopped together.
#pragma once

namespace baton::actors {

/// Exit codes: 0 clean stop (or formed, with --detach), 1 a node failed, 2 usage or a bad file.
int up_main(int argc, char** argv);
/// Stops the cluster of a run directory. Exit codes: 0 stopped, 1 none runs there,
/// 2 usage.
int down_main(int argc, char** argv);

} // namespace baton::actors
