#include "actors/client_output.hpp"

#include <algorithm>

namespace baton::actors {

using namespace protocol;

namespace {

constexpr std::int64_t line_ms = 200;
constexpr std::int64_t lines_ms = 1000;

bool has_text(const executor_config& executor) {
  return std::holds_alternative<llama_executor>(executor);
}

bool has_text(const cluster_config& cluster) {
  return std::any_of(cluster.groups.begin(), cluster.groups.end(),
                     [](const group_config& g) { return has_text(g.executor); });
}

} // namespace

live_mode live_mode_of(const script& script, const cluster_config& cluster, bool stream,
                       bool err_is_terminal) {
  if (stream || script.max_open == 1 || expanded_count(script) == 1)
    return has_text(cluster) ? live_mode::text : live_mode::token_ids;
  return err_is_terminal ? live_mode::progress_line : live_mode::progress_lines;
}

std::int64_t progress_ms(live_mode mode) {
  switch (mode) {
  case live_mode::progress_line: return line_ms;
  case live_mode::progress_lines: return lines_ms;
  default: return 0;
  }
}

void live_output::frame(const frame_forwarded& message) {
  if (mode_ == live_mode::token_ids)
    write(message.external, std::to_string(message.token.value) + " ");
}

void live_output::text(const frame_text& message) {
  if (mode_ == live_mode::text && !message.text.text.empty())
    write(message.external, message.text.text);
}

/// Several answers may come at once: each change of request begins a line with its name.
void live_output::write(const external_id& request, const std::string& text) {
  if (request != last_)
    out_ << (last_.value.empty() ? "" : "\n") << request.value << ": ";
  last_ = request;
  out_ << text << std::flush;
}

void live_output::progress(const run_counts& counts) {
  if (progress_ms(mode_) == 0)
    return;
  std::string line = std::to_string(counts.over) + " of "
                     + std::to_string(counts.waiting + counts.open + counts.over) + " over, "
                     + std::to_string(counts.open) + " open, " + std::to_string(counts.tokens)
                     + " tokens";
  if (mode_ == live_mode::progress_lines) {
    err_ << line << std::endl;
    return;
  }
  const std::size_t width = line.size();
  if (line_width_ > width)
    line.append(line_width_ - width, ' ');
  line_width_ = width;
  err_ << '\r' << line << std::flush;
}

void live_output::finish() {
  if (!last_.value.empty())
    out_ << '\n' << std::flush;
  if (line_width_ > 0)
    err_ << '\n' << std::flush;
  last_ = {};
  line_width_ = 0;
}

} // namespace baton::actors
