// Critical paths for people and programs: of one request, and of all that got a token.
#pragma once

#include "actors/trace_files.hpp"
#include "protocol/trace_path.hpp"

#include <ostream>

namespace baton::actors {

/// Stretches shorter than a hundredth of the path are summed up, or printed like the others.
enum class path_extent : std::uint8_t { folded, all };

/// What `baton trace path` prints; each reads the whole trace. Failures: not_found for a request
/// that is not there or got no token, bad_input for records that cannot be read.
protocol::failure print_path(const trace_files& files, const std::string& wanted,
                             path_extent extent, std::ostream& out);
protocol::failure print_path_json(const trace_files& files, const std::string& wanted,
                                  std::ostream& out);
protocol::failure print_all_paths(const trace_files& files, std::ostream& out);
protocol::failure print_all_paths_json(const trace_files& files, std::ostream& out);

} // namespace baton::actors
