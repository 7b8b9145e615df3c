// `baton status`: what each node of a running cluster says of itself, in two tables or as JSON.
#pragma once

namespace baton::actors {

/// Exit codes: 0 every node and pool has answered, 1 some have not, 2 usage, a file, or no cluster.
int status_main(int argc, char** argv);

} // namespace baton::actors
