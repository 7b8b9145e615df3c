// What a person sees while a script runs: the answer as it comes, or how far the run is.
#pragma once

#include "actors/client_run.hpp"

#include <cstdint>
#include <ostream>
#include <string>

namespace baton::actors {

enum class live_mode : std::uint8_t {
  text,           ///< the answers' text, to `out`
  token_ids,      ///< the answers' token ids, to `out`: the cluster's model has no text
  progress_line,  ///< one line on `err`, written over and over: a terminal
  progress_lines, ///< a line on `err` each second
};

/// Streaming when asked for, or when at most one request is open at a time.
live_mode live_mode_of(const protocol::script& script, const protocol::cluster_config& cluster,
                       bool stream, bool err_is_terminal);

/// How often progress should be called; 0: never.
std::int64_t progress_ms(live_mode mode);

class live_output {
public:
  live_output(live_mode mode, std::ostream& out, std::ostream& err)
    : mode_(mode), out_(out), err_(err) {}

  live_mode mode() const { return mode_; }
  void frame(const protocol::frame_forwarded& message);
  void text(const protocol::frame_text& message);
  void progress(const run_counts& counts);
  /// The run is over: ends the open line.
  void finish();

private:
  void write(const protocol::external_id& request, const std::string& text);

  live_mode mode_;
  std::ostream& out_;
  std::ostream& err_;
  protocol::external_id last_; ///< whose text the last line holds
  std::size_t line_width_ = 0; ///< of the progress line on the screen
};

} // namespace baton::actors
