// `baton bench`: how fast, as ratios to what this machine itself gives.
#pragma once

namespace baton::actors {

/// baton bench link | handoff | burst | short | streaming. One JSON object a line on standard
/// output. 0: done; 1: it could not be measured; 2: wrong arguments.
int bench_main(int argc, char** argv);

} // namespace baton::actors
