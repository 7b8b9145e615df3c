#include "protocol/trace_path_index.hpp"

#include "protocol/messages_compute.hpp"

#include <algorithm>

namespace baton::protocol {

namespace {

std::int64_t number_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || !found->is_number_integer() ? -1 : found->get<std::int64_t>();
}

std::string group_of(const std::string& node) { return node.substr(0, node.rfind('.')); }

/// "3@8b47ac:0-0" of "lane/3@8b47ac:0-0" and of "feed/3@8b47ac:0-0": both ends have the same.
std::string lane_text(const std::string& actor) { return actor.substr(actor.find('/') + 1); }

path_phase phase_of_slice(slice_kind kind) {
  return kind == slice_kind::prefill || kind == slice_kind::last_prefill ? path_phase::prefill
                                                                         : path_phase::step;
}

/// By index, whatever the order in which they were read; the first of those that are told twice.
void place_frame(std::vector<std::size_t>& frames, std::int64_t index, std::size_t record) {
  if (index == static_cast<std::int64_t>(frames.size()))
    frames.push_back(record);
}

} // namespace

class path_gathering {
public:
  path_gathering(path_index& index, const trace_source& source) : x_(index), source_(source) {}

  void run() {
    x_.notes.resize(source_.keys().size());
    for (std::size_t i = 0; i < x_.notes.size(); ++i)
      if (const auto read = source_.record(i))
        take(i, read.value());
      else if (x_.unreadable++ == 0)
        x_.first_unreadable = read.error();
    join_plans();
    sort();
  }

private:
  using plan_key = std::pair<std::uint32_t, std::pair<std::int64_t, std::int64_t>>;
  using sequence_key = std::pair<std::string, std::uint64_t>;

  void take(std::size_t i, const trace_record& r) {
    path_note& n = x_.notes[i];
    n.sent_ns = r.header.sent_ns > 0 ? r.header.sent_ns : r.begin_ns;
    n.begin_ns = r.begin_ns;
    n.end_ns = std::max(r.begin_ns, r.end_ns);
    n.actor = source_.keys()[i].actor;
    n.phase = phase_of_message(r.message);
    n.own = r.header.sender == node_of(i) + ":" + r.actor;
    if (r.request != request_id{})
      n.request = number_of(r.request);
    if (r.machine == "lane" || r.machine == "feed")
      n.lane = lanes_.try_emplace(lane_text(r.actor), lane_count()).first->second;
    take_asked(n, r);
    if (r.machine.empty())
      take_plain(i, n, r);
    else
      take_machine(i, n, r);
  }

  void take_asked(path_note& n, const trace_record& r) {
    const auto& words = relayed_words();
    for (std::uint32_t w = 0; w < words.size(); ++w) {
      if (r.message == words[w].message)
        n.relayed = w;
      for (const char* effect : words[w].asked_by) {
        const auto said = std::count(r.effects.begin(), r.effects.end(), effect);
        n.asks |= said > 0 ? 1U << w : 0;
        if (words[w].kind == path_kind::transfer)
          n.offers += static_cast<std::uint32_t>(said);
      }
    }
  }

  /// Clients and devices.
  void take_plain(std::size_t i, path_note& n, const trace_record& r) {
    if (r.message == "submit_request")
      submits_[r.header.id] = i;
    if (r.message == "frame_forwarded" && n.request != no_number)
      place_frame(x_.requests[n.request].at_client, number_in(r.event, "index"), i);
    if (r.message != run_step::type && r.message != "plan_ended")
      return;
    const plan_key key{source_.keys()[i].section,
                       {number_in(r.event, "epoch"), number_in(r.event, "step")}};
    if (r.message == run_step::type) {
      n.role = path_role::run_step;
      n.plan = static_cast<std::uint32_t>(x_.plans.size());
      numbers_[key] = n.plan;
      x_.plans.push_back({i, {}});
      run_step e;
      static_cast<void>(json_form<run_step>::read(r.event, e));
      slices_.push_back(std::move(e.slices));
    } else if (const auto it = numbers_.find(key); it != numbers_.end()) {
      n.role = path_role::plan_ended;
      n.figure = std::max<std::int64_t>(0, number_in(r.event, "compute_ns"));
      n.plan = it->second;
      numbers_.erase(it);
    }
  }

  void take_machine(std::size_t i, path_note& n, const trace_record& r) {
    if (r.message == "step_completed")
      steps_.push_back(i);
    if (r.message == "piece_landed") {
      n.role = path_role::piece_landed;
      n.figure = number_in(r.event, "piece");
    }
    if (n.request == no_number)
      return;
    if (r.message == "request_arrived") {
      n.role = path_role::arrived;
      x_.requests[n.request].arrived = i;
      if (const auto it = submits_.find(r.header.id); it != submits_.end())
        x_.requests[n.request].submitted = it->second;
    }
    if (r.message == "submit_prefill" || r.message == "activate_sequence")
      sequences_[{group_of(node_of(i)),
                  static_cast<std::uint64_t>(number_in(r.event, "sequence"))}]
        .emplace_back(r.begin_ns, n.request);
    if (r.message == "token_emitted" && r.machine == "request"
        && std::find(r.effects.begin(), r.effects.end(), "frame_forwarded") != r.effects.end())
      place_frame(x_.requests[n.request].at_router, number_in(r.event, "index"), i);
  }

  const std::string& node_of(std::size_t i) const {
    return source_.sections()[source_.keys()[i].section].header.node.value;
  }

  std::uint32_t lane_count() const { return static_cast<std::uint32_t>(lanes_.size()); }

  std::uint32_t number_of(const request_id& id) {
    const auto next = static_cast<std::uint32_t>(x_.requests.size());
    const auto [it, fresh] = request_numbers_.try_emplace(id, next);
    if (fresh)
      x_.requests.push_back({id, {}, {}, {}, {}});
    return it->second;
  }

  /// Whose plans they are can be said only when every file has been read.
  void join_plans() {
    for (std::size_t p = 0; p < x_.plans.size(); ++p)
      for (const plan_slice& slice : slices_[p])
        join_slice(x_.plans[p], group_of(node_of(x_.plans[p].run)), slice);
    slices_.clear();
    for (const std::size_t i : steps_)
      if (const auto cause = x_.causes.cause_of(i))
        x_.notes[i].plan = x_.notes[*cause].plan;
  }

  /// Numbers of sequences begin again in a group's next life: the last that began before.
  void join_slice(path_plan& plan, const std::string& group, const plan_slice& slice) {
    const auto it = sequences_.find({group, slice.sequence.value});
    if (it == sequences_.end())
      return;
    std::pair<std::int64_t, std::uint32_t> last{-1, no_number};
    for (const auto& begun : it->second)
      if (begun.first <= x_.notes[plan.run].begin_ns)
        last = std::max(last, begun);
    if (last.second != no_number)
      plan.of.emplace_back(last.second, phase_of_slice(slice.kind));
  }

  void sort() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> all; // request, record
    for (std::uint32_t i = 0; i < x_.notes.size(); ++i) {
      if (x_.notes[i].request != no_number)
        all.emplace_back(x_.notes[i].request, i);
      else if (x_.notes[i].plan != no_number)
        for (const auto& [request, phase] : x_.plans[x_.notes[i].plan].of)
          all.emplace_back(request, i);
    }
    std::sort(all.begin(), all.end(), [this](const auto& a, const auto& b) {
      return std::tuple(a.first, x_.notes[a.second].begin_ns, a.second)
             < std::tuple(b.first, x_.notes[b.second].begin_ns, b.second);
    });
    x_.first_of_.assign(x_.requests.size() + 1, all.size());
    for (const auto& [request, record] : all)
      x_.records_.push_back(record);
    for (std::size_t k = all.size(); k-- > 0;)
      x_.first_of_[all[k].first] = k;
    for (std::size_t r = x_.requests.size(); r-- > 0;) // those without a record of their own
      x_.first_of_[r] = std::min(x_.first_of_[r], x_.first_of_[r + 1]);
    for (std::uint32_t r = 0; r < x_.requests.size(); ++r)
      if (!x_.requests[r].frames().empty()) {
        x_.answered.push_back(x_.requests[r].request);
        x_.answered_numbers.push_back(r);
      }
  }

  path_index& x_;
  const trace_source& source_;
  std::map<request_id, std::uint32_t> request_numbers_;
  std::unordered_map<std::string, std::uint32_t> lanes_;
  std::unordered_map<std::uint64_t, std::size_t> submits_; ///< by message
  std::map<plan_key, std::uint32_t> numbers_;              ///< of plans that run
  std::vector<std::vector<plan_slice>> slices_;            ///< by plan
  std::map<sequence_key, std::vector<std::pair<std::int64_t, std::uint32_t>>> sequences_;
  std::vector<std::size_t> steps_;
};

path_index::path_index(const trace_source& source) : causes(source.keys()) {
  path_gathering(*this, source).run();
}

std::pair<const std::uint32_t*, const std::uint32_t*>
path_index::records_of(std::uint32_t request) const {
  return {records_.data() + first_of_[request], records_.data() + first_of_[request + 1]};
}

bool path_index::concerns(std::size_t record, std::uint32_t request) const {
  const path_note& n = notes[record];
  if (n.request != no_number || n.plan == no_number)
    return n.request == request;
  const auto& of = plans[n.plan].of;
  return std::any_of(of.begin(), of.end(), [&](const auto& one) { return one.first == request; });
}

path_phase path_index::phase_of(std::size_t record, std::uint32_t request) const {
  const path_note& n = notes[record];
  if (n.plan == no_number)
    return n.phase;
  for (const auto& [whose, phase] : plans[n.plan].of)
    if (whose == request)
      return phase;
  return n.phase;
}

} // namespace baton::protocol
