#include "actors/trace_path_report.hpp"

#include "actors/text_table.hpp"
#include "actors/trace_path_sums.hpp"
#include "actors/trace_requests.hpp"
#include "protocol/trace_line.hpp"
#include "protocol/trace_text.hpp"

#include <algorithm>

namespace baton::actors {

namespace {

using namespace protocol;

constexpr std::int64_t shown_share_min = 100; ///< a hundredth

failure unread(const path_finder& paths) {
  if (paths.unreadable() == 0)
    return {};
  return {reason::bad_input, "unreadable: " + std::to_string(paths.unreadable())
                               + " records, the first: " + paths.first_unreadable().text};
}

/// Numbers of those that `wanted` names and that got a token.
outcome<std::vector<std::size_t>> numbers_of(const trace_files& files, const path_finder& paths,
                                             const std::string& wanted) {
  const auto ids = find_requests(files, wanted);
  if (!ids)
    return ids.error();
  std::vector<std::size_t> numbers;
  for (std::size_t n = 0; n < paths.requests().size(); ++n)
    if (std::count(ids.value().begin(), ids.value().end(), to_string(paths.requests()[n])) > 0)
      numbers.push_back(n);
  if (numbers.empty())
    return failure{reason::not_found, "request '" + wanted
                                        + "' got no token: there is no path to it (trace show "
                                          "prints its messages)"};
  return numbers;
}

path_sums between_tokens(const path_finder& paths, std::size_t number) {
  path_sums sums;
  for (std::size_t frame = 1; frame < paths.frames(number); ++frame)
    sums.add(paths.between_tokens(number, frame));
  return sums;
}

/// Its external id; where that is not recorded, how its own id begins.
std::string name_of(const std::map<std::string, std::string>& externals, const request_id& id) {
  constexpr std::size_t digits = 12; // as in the names of its actors
  const auto it = externals.find(to_string(id));
  return it == externals.end() ? to_string(id).substr(0, digits) : it->second;
}

/// Who, and what: of a stretch's record.
struct place_text {
  std::string actor;
  std::string message;
  std::string sender;
};

place_text place_of(const trace_files& files, std::size_t record) {
  const auto read = files.record(record);
  if (!read)
    return {"?", "?", "?"};
  const auto& node = files.sections()[files.keys()[record].section].header.node.value;
  return {node + ":" + read.value().actor, read.value().message, read.value().header.sender};
}

std::string what_of(const path_segment& s, const place_text& at) {
  switch (s.kind) {
  case path_kind::way: return at.sender + " -> " + at.actor + "  " + at.message;
  case path_kind::queue: return "at " + at.actor + ", for others, until " + at.message;
  case path_kind::unexplained: return "before " + at.actor + "  " + at.message;
  default: return at.actor + "  " + at.message;
  }
}

/// The stretches that are a hundredth of the path or longer; the others as one line.
std::string chart_of(const trace_files& files, const causal_path& path, path_extent extent) {
  std::vector<row> rows{{"at ms", "ms", "share", "phase", "kind", "message"}};
  std::size_t folded = 0;
  std::int64_t folded_ns = 0;
  for (const auto& s : path) {
    if (extent == path_extent::folded && s.length_ns() * shown_share_min < length_ns(path)
        && s.kind != path_kind::unexplained) {
      ++folded;
      folded_ns += s.length_ns();
      continue;
    }
    rows.push_back({ms_text(s.from_ns - path.front().from_ns), ms_text(s.length_ns()),
                    percent_text(static_cast<double>(s.length_ns())
                                 / static_cast<double>(length_ns(path))),
                    to_string(s.phase), to_string(s.kind),
                    what_of(s, place_of(files, s.record))});
  }
  std::string text = table_text({side::right, side::right, side::right, side::left, side::left,
                                 side::left}, rows);
  if (folded > 0)
    text += "(" + std::to_string(folded) + " shorter stretches of " + ms_text(folded_ns)
            + " ms together are folded; --all shows them)\n";
  return text;
}

json json_of(const trace_files& files, const path_segment& s) {
  const place_text at = place_of(files, s.record);
  return {{"from_ns", s.from_ns},   {"to_ns", s.to_ns},
          {"phase", to_string(s.phase)}, {"kind", to_string(s.kind)},
          {"actor", at.actor},      {"message", at.message},
          {"sender", at.sender},    {"id", message_id_text(files.keys()[s.record].id)}};
}

std::string share_line(const path_sums& sums) {
  return percent_text(sums.explained_share()) + " explained";
}

/// Every request's path to its first token.
struct all_paths {
  path_sums first_token;
  path_sums between;
  std::size_t worst = 0; ///< least of it is explained
  double worst_share = 1.0;
  std::size_t slowest = 0;
  std::int64_t slowest_ns = -1;
};

all_paths walk_all(const path_finder& paths) {
  all_paths all;
  for (std::size_t n = 0; n < paths.requests().size(); ++n) {
    const causal_path path = paths.to_first_token(n);
    all.first_token.add(path);
    if (const double share = explained_share(path); n == 0 || share < all.worst_share) {
      all.worst = n;
      all.worst_share = share;
    }
    if (length_ns(path) > all.slowest_ns) {
      all.slowest = n;
      all.slowest_ns = length_ns(path);
    }
    for (std::size_t frame = 1; frame < paths.frames(n); ++frame)
      all.between.add(paths.between_tokens(n, frame));
  }
  return all;
}

failure nobody() { return {reason::not_found, "no request of this trace got a token"}; }

} // namespace

failure print_path(const trace_files& files, const std::string& wanted, path_extent extent,
                   std::ostream& out) {
  const path_finder paths(files);
  const auto numbers = numbers_of(files, paths, wanted);
  if (!numbers)
    return numbers.error();
  const auto externals = externals_by_id(files);
  for (const std::size_t n : numbers.value()) {
    const causal_path path = paths.to_first_token(n);
    path_sums sums;
    sums.add(path);
    const std::string id = to_string(paths.requests()[n]);
    out << "request " << id << " ("
        << name_of(externals, paths.requests()[n]) << "): first token after "
        << ms_text(length_ns(path)) << " ms, " << share_line(sums)
        << "\n\n" << chart_of(files, path, extent) << "\n" << sums.to_table();
    const path_sums between = between_tokens(paths, n);
    if (between.paths() > 0)
      out << "\nbetween tokens: " << between.paths() << ", p50 "
          << ms_text(between.length_at_percent_ns(50)) << " ms, longest "
          << ms_text(between.length_at_percent_ns(100)) << " ms, " << share_line(between) << "\n"
          << between.to_table();
  }
  return unread(paths);
}

failure print_path_json(const trace_files& files, const std::string& wanted, std::ostream& out) {
  const path_finder paths(files);
  const auto numbers = numbers_of(files, paths, wanted);
  if (!numbers)
    return numbers.error();
  json all = json::array();
  for (const std::size_t n : numbers.value()) {
    const causal_path path = paths.to_first_token(n);
    json segments = json::array();
    for (const auto& s : path)
      segments.push_back(json_of(files, s));
    all.push_back({{"request", to_string(paths.requests()[n])},
                   {"ttft_ns", length_ns(path)},
                   {"unexplained_ns", unexplained_ns(path)},
                   {"explained_share", explained_share(path)},
                   {"segments", std::move(segments)},
                   {"between_tokens", between_tokens(paths, n).to_json()}});
  }
  out << to_text(json{{"paths", std::move(all)}}) << "\n";
  return unread(paths);
}

failure print_all_paths(const trace_files& files, std::ostream& out) {
  const path_finder paths(files);
  if (paths.requests().empty())
    return nobody();
  const all_paths all = walk_all(paths);
  const auto externals = externals_by_id(files);
  const auto name = [&](std::size_t n) { return name_of(externals, paths.requests()[n]); };
  out << "first token: " << all.first_token.paths() << " requests, p50 "
      << ms_text(all.first_token.length_at_percent_ns(50)) << " ms, longest "
      << ms_text(all.slowest_ns) << " ms (" << name(all.slowest) << "), "
      << share_line(all.first_token) << ", least " << percent_text(all.worst_share) << " ("
      << name(all.worst) << ")\n" << all.first_token.to_table();
  if (all.between.paths() > 0)
    out << "\nbetween tokens: " << all.between.paths() << ", p50 "
        << ms_text(all.between.length_at_percent_ns(50)) << " ms, longest "
        << ms_text(all.between.length_at_percent_ns(100)) << " ms, " << share_line(all.between)
        << "\n" << all.between.to_table();
  return unread(paths);
}

failure print_all_paths_json(const trace_files& files, std::ostream& out) {
  const path_finder paths(files);
  if (paths.requests().empty())
    return nobody();
  const all_paths all = walk_all(paths);
  out << to_text(json{{"first_token", all.first_token.to_json()},
                      {"least_explained", {{"request", to_string(paths.requests()[all.worst])},
                                           {"explained_share", all.worst_share}}},
                      {"slowest", {{"request", to_string(paths.requests()[all.slowest])},
                                   {"ttft_ns", all.slowest_ns}}},
                      {"between_tokens", all.between.to_json()}})
      << "\n";
  return unread(paths);
}

} // namespace baton::actors
