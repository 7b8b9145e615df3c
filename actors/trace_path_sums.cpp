#include "actors/trace_path_sums.hpp"

#include "actors/text_table.hpp"
#include "protocol/trace_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace baton::actors {

using namespace protocol;

namespace {

double share_of(std::int64_t part_ns, std::int64_t whole_ns) {
  return whole_ns == 0 ? 0.0 : static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

double explained(std::int64_t unexplained_ns, std::int64_t whole_ns) {
  return 1.0 - share_of(unexplained_ns, whole_ns);
}

} // namespace

double explained_share(const causal_path& path) {
  return explained(unexplained_ns(path), length_ns(path));
}

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", std::floor(share * 10'000.0 + 1e-9) / 100.0);
  return text;
}

void path_sums::add(const causal_path& path) {
  for (const auto& s : path)
    sums_[static_cast<std::size_t>(s.phase)][static_cast<std::size_t>(s.kind)] += s.length_ns();
  lengths_.push_back(length_ns(path));
  total_ns_ += lengths_.back();
  unexplained_ns_ += protocol::unexplained_ns(path);
}

std::int64_t path_sums::length_at_percent_ns(int percent) const {
  if (lengths_.empty())
    return 0;
  std::vector<std::int64_t> sorted = lengths_;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t rank = (sorted.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

double path_sums::explained_share() const { return explained(unexplained_ns_, total_ns_); }

std::string path_sums::to_table() const {
  std::vector<row> rows{{"phase", "kind", "mean ms", "share"}};
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(paths(), 1));
  for (std::size_t p = 0; p < path_phases; ++p)
    for (std::size_t k = 0; k < path_kinds; ++k)
      if (const std::int64_t ns = sums_[p][k]; ns > 0)
        rows.push_back({to_string(static_cast<path_phase>(p)),
                        to_string(static_cast<path_kind>(k)), ms_text(ns / count),
                        percent_text(share_of(ns, total_ns_))});
  return table_text({side::left, side::left, side::right, side::right}, rows);
}

json path_sums::to_json() const {
  json parts = json::array();
  for (std::size_t p = 0; p < path_phases; ++p)
    for (std::size_t k = 0; k < path_kinds; ++k)
      if (sums_[p][k] > 0)
        parts.push_back({{"phase", to_string(static_cast<path_phase>(p))},
                         {"kind", to_string(static_cast<path_kind>(k))},
                         {"ns", sums_[p][k]}});
  return {{"count", paths()},
          {"total_ns", total_ns_},
          {"unexplained_ns", unexplained_ns_},
          {"explained_share", explained_share()},
          {"p50_ns", length_at_percent_ns(50)},
          {"longest_ns", length_at_percent_ns(100)},
          {"parts", std::move(parts)}};
}

} // namespace baton::actors
