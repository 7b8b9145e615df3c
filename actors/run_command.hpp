// `baton run`: plays a script against a running cluster, or asks for one prompt.
#pragma once

namespace baton::actors {

/// argv[0] is the command's own name. Exit codes: 0 all went as expected, 1 an expectation failed
/// or the router broke its word, 2 usage, a file, or no cluster, 3 the script timed out, 130
/// interrupted.
int run_main(int argc, char** argv);

} // namespace baton::actors
