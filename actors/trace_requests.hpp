// The requests of a trace, by the names that people give them.
#pragma once

#include "actors/trace_files.hpp"

#include <map>
#include <string>
#include <vector>

namespace baton::actors {

/// Ids and external ids of all requests of the trace, from the messages that introduce them.
std::map<std::string, std::string> externals_by_id(const trace_files& files);

/// Ids of the requests with the external id `wanted`, or of the one whose hexadecimal id begins so.
/// not_found says what there is instead; bad_input when a prefix fits more than one.
protocol::outcome<std::vector<std::string>> find_requests(const trace_files& files,
                                                          const std::string& wanted);

} // namespace baton::actors
