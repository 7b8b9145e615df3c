// `baton node`: one process of a cluster, with one node in it (or all of them, for loopback).
#pragma once

namespace baton::actors {

/// Runs until SIGINT, SIGTERM or SIGHUP. Exit codes: 0 clean, 1 the node could not start, 2 usage.
int node_main(int argc, char** argv);

} // namespace baton::actors
