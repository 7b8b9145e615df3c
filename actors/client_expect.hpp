// What a script expects, held against what came: one line of text for each expectation that failed.
#pragma once

#include "actors/client_run.hpp"

#include <map>
#include <string>
#include <vector>

namespace baton::actors {

/// Token ids of the files that expectations name, by path as the script writes it.
using token_files = std::map<std::string, std::vector<std::int32_t>>;

/// Reads int32 little-endian ids. bad_input names the path: "golden.i32: 7 bytes are no int32s".
protocol::outcome<std::vector<std::int32_t>> read_token_file(const std::string& path);

/// Reads every file that the script's expectations name; paths are relative to `folder`.
protocol::outcome<token_files> read_token_files(const protocol::script& script,
                                                const std::string& folder);

/// "req-3.tokens: token 17: expected 402, got 88" for each failed expectation of one request, in
/// the order of the script's fields. Only those that the script states are checked.
std::vector<std::string> failed_expectations(const client_run& run,
                                             const request_account& account,
                                             const token_files& files);

/// The same for the whole script: each request, then "outcomes.completed: expected 4, got 3". A
/// request without outcome fails, whatever the script expects of it.
std::vector<std::string> failed_expectations(const client_run& run,
                                             const protocol::script& script,
                                             const token_files& files);

} // namespace baton::actors
