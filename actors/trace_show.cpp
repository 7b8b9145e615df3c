#include "actors/trace_show.hpp"

#include "actors/trace_requests.hpp"
#include "protocol/trace_line.hpp"
#include "protocol/trace_order.hpp"
#include "protocol/trace_text.hpp"

#include <algorithm>
#include <cstring>
#include <iomanip>
#include <map>
#include <set>

namespace baton::actors {

namespace {

using namespace protocol;

constexpr std::size_t fold_after = 2;

bool contains(std::string_view line, std::string_view text) {
  return line.find(text) != std::string_view::npos;
}

/// Columns deep: the closer to the bytes, the further right.
std::size_t depth_of(const std::string& actor) {
  static const std::map<std::string, std::size_t> depths = {
    {"attempt", 1},     {"pool", 2}, {"reservation", 3}, {"source_hold", 3},    {"rank_group", 4},
    {"lane", 5},        {"feed", 5}, {"compute_device", 6}, {"transfer_device", 6}};
  const auto it = depths.find(actor.substr(0, actor.find('/')));
  return it == depths.end() ? 0 : it->second;
}

bool did(const trace_record& r, const char* effect) {
  return std::find(r.effects.begin(), r.effects.end(), effect) != r.effects.end();
}

/// What a reader of the chart looks for first.
const char* mark_of(const trace_record& r) {
  const std::string& m = r.message;
  if (m == "commit")
    return did(r, "committed") ? "COMMIT" : "refused";
  if (m == "receipt_arrived" || m == "feed_received" || m == "lane_landed")
    return "receipt";
  if (m == "receives_quiesced" || m == "lane_stopped" || m == "feed_stopped"
      || m == "sequence_quiesced" || m == "reader_stopped")
    return "stopped";
  if (m == "reclaim_blocks")
    return "RECLAIM";
  if (m == "begin_reservation" || m == "begin_hold")
    return "grant";
  if (m == "request_ended" || did(r, "request_ended"))
    return "ENDED";
  return "";
}

class chart {
public:
  chart(const trace_files& files, std::string id, std::string external, chart_extent extent,
        std::ostream& out)
    : files_(files), id_(std::move(id)), external_(std::move(external)), extent_(extent),
      out_(out) {}

  /// The first record that could not be read.
  failure print(const std::vector<std::uint32_t>& order) {
    std::vector<std::size_t> mine;
    for (const std::uint32_t i : order)
      if (concerns(i))
        mine.push_back(i);
    out_ << "request " << id_ << " (" << external_ << "), " << mine.size() << " messages\n"
         << "         ms  wait us  took us  mark     message\n";
    std::map<std::string, std::size_t> left;
    for (const std::size_t i : mine)
      ++left[fold_key(i)];
    for (const std::size_t i : mine)
      print_one(i, left);
    if (folded_ > 0)
      out_ << "(" << folded_ << " alike are folded; --all shows them)\n";
    return unreadable_;
  }

private:
  bool concerns(std::size_t i) const {
    const std::string_view line = files_.line(i);
    return contains(line, id_) || (contains(line, "\"message\":\"submit_request\"")
                                   && contains(line, "\"external\":" + json(external_).dump()));
  }

  /// Records of one key are alike; "" for those that are always shown.
  std::string fold_key(std::size_t i) const {
    static const char* const many[] = {"token_emitted", "frame_forwarded", "piece_landed",
                                       "source_ready", "offer_refused"};
    const std::string_view line = files_.line(i);
    for (const char* message : many)
      if (contains(line, "\"message\":\"" + std::string(message) + "\""))
        return std::string(message) + std::to_string(files_.keys()[i].actor);
    return "";
  }

  void print_one(std::size_t i, std::map<std::string, std::size_t>& left) {
    const std::string key = extent_ == chart_extent::all ? "" : fold_key(i);
    const std::size_t after = --left[key.empty() ? fold_key(i) : key];
    if (!key.empty() && shown_[key] >= fold_after && after > 0) {
      ++folded_;
      return;
    }
    ++shown_[key];
    const auto read = files_.record(i);
    if (!read) {
      out_ << read.error().text << "\n";
      unreadable_ = unreadable_ ? unreadable_ : read.error();
      return;
    }
    const trace_record& r = read.value();
    if (!started_) {
      started_ = true;
      origin_ns_ = r.begin_ns;
    }
    const auto& node = files_.sections()[files_.keys()[i].section].header.node.value;
    const std::string text = describe(r, node, origin_ns_);
    const std::size_t split = text.find(" ms  ");
    const std::int64_t wait_ns = std::max<std::int64_t>(0, r.wait_ns());
    out_ << " " << text.substr(0, split) << std::setw(9) << wait_ns / 1000 << std::setw(9)
         << (r.end_ns - r.begin_ns) / 1000 << "  " << std::left << std::setw(8)
         << mark_of(r) << std::right << std::string(1 + 2 * depth_of(r.actor), ' ')
         << text.substr(split + 5) << "\n";
  }

  const trace_files& files_;
  const std::string id_;
  const std::string external_;
  const chart_extent extent_;
  std::ostream& out_;
  std::map<std::string, std::size_t> shown_;
  std::size_t folded_ = 0;
  failure unreadable_;
  bool started_ = false;
  std::int64_t origin_ns_ = 0;
};

} // namespace

failure show_request(const trace_files& files, const std::string& wanted, chart_extent extent,
                     std::ostream& out) {
  const auto found = find_requests(files, wanted);
  if (!found)
    return found.error();
  const auto all = externals_by_id(files);
  const auto order = order_records(files.keys(), cause_index(files.keys()));
  failure first;
  for (const std::string& id : found.value()) {
    failure why = chart(files, id, all.at(id), extent, out).print(order.records);
    first = first ? first : why;
  }
  return first;
}

} // namespace baton::actors
