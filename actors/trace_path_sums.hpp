// Paths added up by phase and kind.
#pragma once

#include "protocol/json_codec.hpp"
#include "protocol/trace_path.hpp"

#include <array>
#include <string>
#include <vector>

namespace baton::actors {

/// Nanoseconds of several paths.
class path_sums {
public:
  void add(const protocol::causal_path& path);

  std::size_t paths() const { return lengths_.size(); }
  std::int64_t total_ns() const { return total_ns_; }
  std::int64_t unexplained_ns() const { return unexplained_ns_; }
  std::int64_t length_at_percent_ns(int percent) const;
  /// Of all that was added; 1 where nothing was.
  double explained_share() const;

  /// One line for each phase and kind that took time, in the order of the phases: mean of a path,
  /// share of all.
  std::string to_table() const;
  protocol::json to_json() const;

private:
  std::array<std::array<std::int64_t, protocol::path_kinds>, protocol::path_phases> sums_{};
  std::vector<std::int64_t> lengths_;
  std::int64_t total_ns_ = 0;
  std::int64_t unexplained_ns_ = 0;
};

double explained_share(const protocol::causal_path& path);
/// "99.97 %", rounded down, so that 100 % is never said of less.
std::string percent_text(double share);

} // namespace baton::actors
