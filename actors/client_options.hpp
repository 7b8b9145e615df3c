// The command line of `baton run`, as values.
#pragma once

#include "protocol/outcome.hpp"
#include "protocol/script.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace baton::actors {

/// One request typed by a person instead of a script.
struct typed_request {
  std::string prompt;
  std::uint32_t output_tokens = 32;
  float temperature = 0;
  std::uint64_t seed = 0;
};

struct run_options {
  std::string script_path;            ///< empty: `typed` is what to run
  std::optional<typed_request> typed; ///< none: `script_path` is
  std::string dir = "run";
  bool stream = false;
  bool drain = false;
  std::string json_path;        ///< empty: no report is written
  std::string logits_path;      ///< empty: no logits are written
  std::string logits_of;        ///< empty: of the first request that records them
  std::int64_t timeout_ms = 0;  ///< 0: the script's own
};

/// Either what to run, or that there is nothing to run and the exit code: 0 after --help, 2 after
/// a mistake, both with their text printed.
struct parsed_options {
  std::optional<run_options> options;
  int exit_code = 0;
};
parsed_options parse_run_options(int argc, const char* const* argv);

/// The script to play: the file's, or one of the typed request alone, which must complete. Options
/// override the file. bad_input names file, field and reason.
protocol::outcome<protocol::script> script_of(const run_options& options);

/// The request whose logits are to be written; empty: none is wanted. bad_input when it is not in
/// the script or does not record them.
protocol::outcome<protocol::external_id> logits_request(const run_options& options,
                                                        const protocol::script& script);

} // namespace baton::actors
