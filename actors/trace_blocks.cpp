#include "actors/trace_blocks.hpp"

#include "actors/text_table.hpp"
#include "actors/trace_requests.hpp"
#include "protocol/trace_text.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace baton::actors {

namespace {

using namespace protocol;

constexpr std::int64_t strip_columns = 72;
constexpr std::size_t rows_max = 40;
constexpr char marks[block_conditions + 1] = ".-#~"; ///< by block_condition

/// The time that a strip shows: from the first grant to the last change.
struct strip_window {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 1;

  std::int64_t column_ns() const { return (to_ns - from_ns + strip_columns - 1) / strip_columns; }
};

strip_window window_of(const pool_ledger& pool, std::int64_t end_ns) {
  const auto counts = counts_of(pool);
  strip_window w{pool.formed_ns, end_ns};
  if (counts.size() > 1)
    w = {counts[1].at_ns, counts.back().at_ns};
  if (!pool.tenures.empty() && counts.back().blocks[0] != pool.formed.blocks)
    w.to_ns = end_ns; // something is held to the end
  w.to_ns = std::max(w.to_ns, w.from_ns + 1);
  return w;
}

/// A column shows where its block was longest in that time: free only if it was nothing else.
std::string strip_of(const std::vector<block_span>& spans, const strip_window& w) {
  const std::int64_t column_ns = w.column_ns();
  const std::int64_t columns = (w.to_ns - w.from_ns + column_ns - 1) / column_ns;
  std::vector<std::array<std::int64_t, block_conditions>> times(static_cast<std::size_t>(columns));
  for (const block_span& s : spans) {
    const std::int64_t from = std::max(s.from_ns, w.from_ns) - w.from_ns;
    const std::int64_t to = std::min(s.to_ns, w.to_ns) - w.from_ns;
    if (s.condition == block_condition::free)
      continue;
    for (std::int64_t c = from / column_ns; c < columns && c * column_ns < to; ++c)
      times[static_cast<std::size_t>(c)][static_cast<std::size_t>(s.condition)]
        += std::min(to, (c + 1) * column_ns) - std::max(from, c * column_ns);
  }
  std::string strip;
  for (const auto& in : times)
    strip += marks[std::max_element(in.begin(), in.end()) - in.begin()];
  return strip;
}

const char* holder_name(const block_tenure& t) {
  return t.kind == block_tenure::side::destination ? "reservation" : "source_hold";
}

std::uint64_t generation_in(const block_tenure& t, std::uint32_t block) {
  const auto it = std::find_if(t.blocks.begin(), t.blocks.end(),
                               [&](const block_ref& ref) { return ref.block.value == block; });
  return it == t.blocks.end() ? 0 : it->gen.value;
}

class printing {
public:
  printing(const trace_files& files, const trace_ledgers& all, std::ostream& out)
    : files_(files), all_(all), externals_(externals_by_id(files)), out_(out) {}

  void pool(const pool_ledger& pool, std::optional<std::uint32_t> block,
            strip_extent extent) const {
    const strip_window w = window_of(pool, all_.end_ns);
    const auto spans = spans_by_block(pool, all_.end_ns);
    out_ << "pool " << pool.formed.group.value << " of "
         << files_.sections()[pool.section].header.node.value << ": " << pool.formed.blocks
         << " blocks of " << pool.formed.block_bytes << " bytes, " << pool.tenures.size()
         << " grants\n"
         << at(w.from_ns) << " to " << at(w.to_ns) << " ms of the trace, a column is "
         << ms_text(w.column_ns())
         << " ms and shows where its block was longest, free only if throughout:\n";
    for (std::size_t c = 0; c < block_conditions; ++c)
      out_ << (c == 0 ? "" : ", ") << "'" << marks[c] << "' "
           << to_string(static_cast<block_condition>(c));
    out_ << "\n";
    if (block)
      one_block(pool, *block, spans[*block], w);
    else
      all_blocks(spans, w, extent);
  }

private:
  std::string at(std::int64_t ns) const { return ms_text(ns - all_.begin_ns); }

  void all_blocks(const std::vector<std::vector<block_span>>& spans, const strip_window& w,
                  strip_extent extent) const {
    std::vector<row> rows;
    std::size_t more = 0;
    for (std::size_t first = 0, next = 0; first < spans.size(); first = next) {
      const std::string strip = strip_of(spans[first], w);
      for (next = first + 1; next < spans.size() && strip_of(spans[next], w) == strip;)
        ++next;
      const std::string last = next - first > 1 ? "-" + std::to_string(next - 1) : "";
      if (extent == strip_extent::screenful && rows.size() >= rows_max)
        ++more;
      else
        rows.push_back({std::to_string(first) + last, strip});
    }
    out_ << table_text({side::left, side::left}, rows);
    if (more > 0)
      out_ << "(" << more << " more rows; --all prints them)\n";
  }

  void one_block(const pool_ledger& pool, std::uint32_t block,
                 const std::vector<block_span>& spans, const strip_window& w) const {
    out_ << strip_of(spans, w) << "\n";
    std::vector<row> rows{{"from ms", "to ms", "state", "gen", "holder", "request"}};
    for (const block_span& s : spans) {
      row r{at(s.from_ns), at(s.to_ns), to_string(s.condition)};
      if (s.tenure) {
        const block_tenure& t = pool.tenures[*s.tenure];
        r.push_back(std::to_string(generation_in(t, block)));
        r.push_back(std::string(holder_name(t)) + "/" + std::to_string(t.id.number));
        r.push_back(request_text(t.attempt));
      }
      rows.push_back(std::move(r));
    }
    out_ << table_text({side::right, side::right, side::left, side::right, side::left, side::left},
                       rows);
  }

  /// "hello 1cb9ec429e57.1": as the attempt's actor is called.
  std::string request_text(const attempt_id& attempt) const {
    const std::string id = to_string(attempt.request);
    const auto name = externals_.find(id);
    return (name == externals_.end() ? "" : name->second + " ") + id.substr(0, 12) + "."
           + std::to_string(attempt.ordinal);
  }

  const trace_files& files_;
  const trace_ledgers& all_;
  const std::map<std::string, std::string> externals_;
  std::ostream& out_;
};

json json_of(std::optional<std::int64_t> ns) { return ns ? json(*ns) : json(); }

json json_of(const block_tenure& t, std::optional<std::uint32_t> block) {
  json blocks = json::array();
  for (const auto& ref : t.blocks)
    if (!block || ref.block.value == *block)
      blocks.push_back({{"block", ref.block.value}, {"gen", ref.gen.value}});
  return {{"holder", holder_name(t)},
          {"number", t.id.number},
          {"request", to_string(t.attempt.request)},
          {"attempt", t.attempt.ordinal},
          {"blocks", std::move(blocks)},
          {"leased_ns", t.granted_ns},
          {"live_ns", json_of(t.live_ns)},
          {"quarantined_ns", json_of(t.quarantined_ns)},
          {"free_ns", json_of(t.reclaimed_ns)}};
}

/// The lives of the group's pool; a failure where there is none, or not that block.
outcome<std::vector<const pool_ledger*>> chosen(const trace_ledgers& all,
                                                const block_choice& choice) {
  std::vector<const pool_ledger*> pools;
  std::set<std::string> groups;
  for (const auto& pool : all.pools) {
    groups.insert(pool.formed.group.value);
    if (pool.formed.group.value == choice.group)
      pools.push_back(&pool);
  }
  std::string there;
  for (const auto& group : groups)
    there += (there.empty() ? "" : ", ") + group;
  if (pools.empty())
    return failure{reason::not_found, "no pool of a group '" + choice.group
                                        + "' in this trace; there are: " + there};
  for (const auto* pool : pools)
    if (choice.block && *choice.block >= pool->formed.blocks)
      return failure{reason::out_of_range, "group " + choice.group + " has blocks 0 to "
                                             + std::to_string(pool->formed.blocks - 1)};
  return pools;
}

failure unread(const trace_ledgers& all) {
  if (all.unreadable == 0)
    return {};
  return {reason::bad_input, "unreadable: " + std::to_string(all.unreadable)
                               + " records, the first: " + all.first_unreadable.text};
}

} // namespace

outcome<block_choice> parse_block_choice(const std::string& text) {
  constexpr std::size_t digits_max = 9;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    return block_choice{text, {}};
  const std::string number = text.substr(colon + 1);
  if (number.empty() || number.size() > digits_max
      || number.find_first_not_of("0123456789") != std::string::npos)
    return failure{reason::bad_input, "'" + text + "': expected GROUP or GROUP:BLOCK, as D3:17"};
  return block_choice{text.substr(0, colon), static_cast<std::uint32_t>(std::stoul(number))};
}

failure print_blocks(const trace_files& files, const block_choice& choice, strip_extent extent,
                     std::ostream& out) {
  const trace_ledgers all = read_ledgers(files);
  const auto pools = chosen(all, choice);
  if (!pools)
    return pools.error();
  const printing print(files, all, out);
  for (const auto* pool : pools.value())
    print.pool(*pool, choice.block, extent);
  return unread(all);
}

failure print_blocks_json(const trace_files& files, const block_choice& choice,
                          std::ostream& out) {
  const trace_ledgers all = read_ledgers(files);
  const auto pools = chosen(all, choice);
  if (!pools)
    return pools.error();
  json said = json::array();
  for (const auto* pool : pools.value()) {
    json grants = json::array();
    for (const auto& t : pool->tenures)
      if (!choice.block || generation_in(t, *choice.block) > 0)
        grants.push_back(json_of(t, choice.block));
    said.push_back({{"group", pool->formed.group.value},
                    {"node", files.sections()[pool->section].header.node.value},
                    {"life", to_string(pool->formed.owner)},
                    {"blocks", pool->formed.blocks},
                    {"formed_ns", pool->formed_ns},
                    {"grants", std::move(grants)}});
  }
  out << to_text(json{{"begin_ns", all.begin_ns}, {"end_ns", all.end_ns},
                      {"pools", std::move(said)}})
      << "\n";
  return unread(all);
}

} // namespace baton::actors
