// Is the whole trace here? A checker that saw only the present records would take what is missing
// for silence.
#pragma once

#include "actors/trace_files.hpp"

#include <string>
#include <vector>

namespace baton::actors {

struct completeness {
  std::vector<std::string> missing; ///< proven to be missing, or of another run; sentences
  std::string note;                 ///< why less could be looked for; empty: everything was
};

/// Compares the files with cluster.json (a file for each node, each of this cluster, each under its
/// node's name), end lines with the lines above them, and every message with the record of the
/// message that brought it about: a node whose file is whole has both or neither. What writers say
/// that they lost is added.
completeness look_for_whole(const std::string& directory, const trace_files& files);

} // namespace baton::actors
