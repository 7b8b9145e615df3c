#include "protocol/trace_path.hpp"

#include "protocol/assert.hpp"
#include "protocol/trace_path_index.hpp"

#include <algorithm>
#include <set>

namespace baton::protocol {

namespace {

/// One walk back along the causes. What it adds begins where the last stretch began, or before.
class walk {
public:
  walk(const path_index& index, std::uint32_t request, std::int64_t floor_ns)
    : x_(index), request_(request), floor_ns_(floor_ns) {}

  causal_path from(std::size_t record) {
    at_ns_ = x_.notes[record].begin_ns;
    for (std::optional<std::size_t> now = record; now && at_ns_ > floor_ns_; now = back(*now))
      if (!seen_.insert(*now).second)
        break;
    add(floor_ns_, path_kind::unexplained, record);
    std::reverse(path_.begin(), path_.end());
    return std::move(path_);
  }

private:
  void add(std::int64_t from_ns, path_kind kind, std::size_t record) {
    add(from_ns, kind, record, x_.phase_of(record, request_));
  }
  void add(std::int64_t from_ns, path_kind kind, std::size_t record, path_phase phase) {
    const std::int64_t from = std::max(from_ns, floor_ns_);
    if (from >= at_ns_)
      return;
    path_.push_back({from, at_ns_, kind, phase, record});
    at_ns_ = from;
  }

  /// Adds how `now` came about; the record that it came from.
  std::optional<std::size_t> back(std::size_t now) {
    const path_note& n = x_.notes[now];
    const auto& request = x_.requests[request_];
    if (n.role == path_role::arrived && request.submitted) { // handled by one actor in one go
      const path_note& submit = x_.notes[*request.submitted];
      add(submit.begin_ns, path_kind::handling, *request.submitted);
      add(submit.sent_ns, path_kind::way, *request.submitted);
      return {};
    }
    add(n.sent_ns, n.own ? path_kind::timer : path_kind::way, now);
    if (n.role == path_role::plan_ended)
      return from_device(now);
    if (const auto cause = x_.causes.cause_of(now))
      if (const auto found = x_.concerns(*cause, request_) ? handled(*cause)
                                                           : queued(now, *cause))
        return found;
    if (const auto asker = asked(now)) {
      add(x_.notes[*asker].end_ns, relayed_words()[n.relayed].kind, now);
      return handled(*asker);
    }
    const auto before = latest(at_ns_, [&](std::size_t i) { return seen_.count(i) == 0; });
    if (!before)
      return {};
    add(x_.notes[*before].end_ns, path_kind::unexplained, now);
    return handled(*before);
  }

  std::size_t handled(std::size_t record) {
    add(x_.notes[record].begin_ns, path_kind::handling, record);
    return record;
  }

  std::size_t from_device(std::size_t ended) {
    const path_note& n = x_.notes[ended];
    const std::size_t run = x_.plans[n.plan].run;
    add(std::max(x_.notes[run].begin_ns, n.sent_ns - n.figure), path_kind::compute, ended);
    add(x_.notes[run].begin_ns, path_kind::device_wait, run);
    return run;
  }

  /// Its actor came to it when it had done with `other`, which is not about this request.
  std::optional<std::size_t> queued(std::size_t now, std::size_t other) {
    const path_note& o = x_.notes[other];
    const auto begun = latest(o.begin_ns, [&](std::size_t i) {
      return i != other && x_.notes[i].actor == o.actor && seen_.count(i) == 0;
    });
    if (!begun)
      return {};
    const path_phase phase = x_.phase_of(now, request_); // other's is somebody else's
    add(o.begin_ns, path_kind::handling, other, phase);
    add(x_.notes[*begun].end_ns, path_kind::queue, other, phase);
    return handled(*begun);
  }

  std::optional<std::size_t> asked(std::size_t now) const {
    const path_note& n = x_.notes[now];
    if (n.relayed == no_number)
      return {};
    const auto asks = [&](std::size_t i) {
      return i != now && (x_.notes[i].asks >> n.relayed & 1) != 0
             && (!relayed_words()[n.relayed].of_lane || x_.notes[i].lane == n.lane);
    };
    if (n.role == path_role::piece_landed)
      if (const auto offer = offered(n))
        return offer;
    return latest(n.sent_ns, asks);
  }

  /// Pieces are offered in their order.
  std::optional<std::size_t> offered(const path_note& landed) const {
    std::int64_t pieces = 0;
    const auto [begin, end] = x_.records_of(request_);
    for (const auto* it = begin; it != end; ++it) {
      const path_note& n = x_.notes[*it];
      if (n.lane != landed.lane || n.offers == 0)
        continue;
      pieces += n.offers;
      if (pieces > landed.figure)
        return n.begin_ns <= landed.sent_ns ? std::optional<std::size_t>(*it) : std::nullopt;
    }
    return {};
  }

  /// The request's last record that began no later, and is such a one.
  template <class Predicate>
  std::optional<std::size_t> latest(std::int64_t begin_ns, Predicate such) const {
    const auto [begin, end] = x_.records_of(request_);
    const auto* it = std::upper_bound(begin, end, begin_ns, [&](std::int64_t ns, std::uint32_t i) {
      return ns < x_.notes[i].begin_ns;
    });
    while (it != begin)
      if (such(*--it))
        return *it;
    return {};
  }

  const path_index& x_;
  const std::uint32_t request_;
  const std::int64_t floor_ns_;
  std::int64_t at_ns_ = 0;
  causal_path path_;
  std::set<std::size_t> seen_;
};

} // namespace

std::int64_t length_ns(const causal_path& path) {
  return path.empty() ? 0 : path.back().to_ns - path.front().from_ns;
}

std::int64_t unexplained_ns(const causal_path& path) {
  std::int64_t sum = 0;
  for (const auto& s : path)
    sum += s.kind == path_kind::unexplained ? s.length_ns() : 0;
  return sum;
}

path_finder::path_finder(const trace_source& source)
  : index_(std::make_unique<path_index>(source)) {}
path_finder::~path_finder() = default;

const std::vector<request_id>& path_finder::requests() const { return index_->answered; }
std::size_t path_finder::unreadable() const { return index_->unreadable; }
const failure& path_finder::first_unreadable() const { return index_->first_unreadable; }

causal_path path_finder::to_first_token(std::size_t number) const {
  const std::uint32_t request = index_->answered_numbers.at(number);
  const request_frames& r = index_->requests[request];
  const std::size_t frame = r.frames().front();
  std::int64_t submitted_ns = index_->notes[*index_->records_of(request).first].begin_ns;
  if (r.submitted || r.arrived)
    submitted_ns = index_->notes[r.submitted.value_or(r.arrived.value_or(0))].sent_ns;
  return walk(*index_, request, submitted_ns).from(frame);
}

std::size_t path_finder::frames(std::size_t number) const {
  return index_->requests[index_->answered_numbers.at(number)].frames().size();
}

causal_path path_finder::between_tokens(std::size_t number, std::size_t frame) const {
  const std::uint32_t request = index_->answered_numbers.at(number);
  const auto& frames = index_->requests[request].frames();
  BATON_ASSERT(frame > 0 && frame < frames.size());
  return walk(*index_, request, index_->notes[frames[frame - 1]].begin_ns).from(frames[frame]);
}

} // namespace baton::protocol
