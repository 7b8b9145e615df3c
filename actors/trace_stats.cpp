#include "actors/trace_stats.hpp"

#include "protocol/trace_fact.hpp"
#include "protocol/trace_text.hpp"

#include <algorithm>
#include <cstdio>

namespace baton::actors {

namespace {

using namespace protocol;

/// Instants of one request, at one place.
struct stream_times {
  std::optional<std::int64_t> begun;
  std::optional<std::int64_t> ended;
  std::vector<std::int64_t> frames;
};

struct request_times {
  std::string external;
  stream_times client;
  stream_times router;
  std::map<attempt_id, std::int64_t> computed;
  std::map<attempt_id, std::int64_t> committed;
  std::map<attempt_id, std::int64_t> placed; ///< at the attempt, as the next is
  std::map<attempt_id, std::int64_t> heard_committed;
};

class gathering {
public:
  explicit gathering(const trace_files& files) : files_(files) {}

  trace_stats run() {
    for (std::size_t i = 0; i < files_.keys().size(); ++i)
      if (const auto read = files_.record(i))
        take(i, read.value());
      else if (stats_.unreadable++ == 0)
        stats_.first_unreadable = read.error();
    stats_.requests = count_requests();
    for (auto& [id, times] : requests_)
      join(times);
    return std::move(stats_);
  }

private:
  void take(std::size_t i, const trace_record& r) {
    ++stats_.records;
    if (r.header.sent_ns > 0)
      stats_.mailbox_wait.add(std::max<std::int64_t>(0, r.wait_ns()));
    stats_.handling.add(r.end_ns - r.begin_ns);
    if (r.request != request_id{}) {
      ++stats_.messages_of_requests;
      requests_[r.request]; // every request that anybody worked for
    }
    const auto& node = files_.sections()[files_.keys()[i].section].header.node.value;
    if (r.message == "prefill_computed" && r.machine == "source_hold")
      requests_[r.request].computed[{r.request, r.attempt, {}}] = r.begin_ns;
    if (r.machine == "attempt")
      take_attempt(r);
    const auto fact = decode(r);
    if (!fact)
      return;
    if (const auto* e = std::get_if<submit_request>(&fact.value()))
      submitted_[e->spec.external.value].push_back(r.header.sent_ns);
    if (node == client_node)
      take_client(r, fact.value());
    else
      take_node(r, fact.value(), node);
  }

  void take_attempt(const trace_record& r) {
    const attempt_id id{r.request, r.attempt, {}};
    if (r.message == "attempt_placed")
      requests_[r.request].placed[id] = r.begin_ns;
    else if (r.message == "committed")
      requests_[r.request].heard_committed.emplace(id, r.begin_ns); // it may be told twice
  }

  void take_client(const trace_record& r, const trace_fact& fact) {
    if (const auto* e = std::get_if<frame_forwarded>(&fact))
      requests_[e->attempt.request].client.frames.push_back(r.begin_ns);
    const auto* e = std::get_if<request_ended>(&fact);
    if (e == nullptr)
      return;
    ++outcomes_at_client_[outcome_text(*e)];
    if (e->request != request_id{})
      requests_[e->request].client.ended = r.begin_ns;
  }

  void take_node(const trace_record& r, const trace_fact& fact, const std::string& node) {
    const bool at_request = r.machine == "request";
    if (const auto* e = std::get_if<open_request>(&fact); e != nullptr && at_request) {
      requests_[e->request].external = e->spec.external.value;
      requests_[e->request].router.begun = r.begin_ns;
    }
    if (std::holds_alternative<token_emitted>(fact) && at_request && did(r, "frame_forwarded"))
      requests_[r.request].router.frames.push_back(r.begin_ns);
    if (at_request && did(r, "request_ended")) {
      requests_[r.request].router.ended = r.begin_ns;
      ++outcomes_at_router_[r.after == "gone" ? r.message : r.after];
    }
    if (const auto* e = std::get_if<piece_landed>(&fact); e != nullptr && r.machine == "lane")
      stats_.bytes_landed[node] += e->bytes;
    if (std::holds_alternative<commit>(fact) && did(r, "committed"))
      requests_[r.request].committed[{r.request, r.attempt, {}}] = r.begin_ns;
  }

  static bool did(const trace_record& r, const char* effect) {
    return std::find(r.effects.begin(), r.effects.end(), effect) != r.effects.end();
  }

  static std::string outcome_text(const request_ended& e) {
    return std::string(to_string(e.kind)) + (e.why ? std::string(": ") + to_string(e.why.why) : "");
  }

  /// Those that the router opened. A falsified id is worked for and refused, but nobody's request.
  std::uint64_t count_requests() const {
    const auto opened
      = std::count_if(requests_.begin(), requests_.end(),
                      [](const auto& known) { return known.second.router.begun.has_value(); });
    return opened > 0 ? static_cast<std::uint64_t>(opened) : requests_.size();
  }

  /// When the client sent it: a name may be used again, so the last time before it was opened.
  std::optional<std::int64_t> sent_by_client(const request_times& times) const {
    const auto it = submitted_.find(times.external);
    if (it == submitted_.end() || !times.router.begun || !times.client.ended)
      return {};
    std::optional<std::int64_t> sent;
    for (const std::int64_t ns : it->second)
      if (ns > 0 && ns <= *times.router.begun)
        sent = std::max(sent.value_or(ns), ns);
    return sent;
  }

  void join(request_times& times) {
    times.client.begun = sent_by_client(times);
    const stream_times& s = times.client.begun ? times.client : times.router;
    stats_.outcomes = outcomes_at_client_.empty() ? outcomes_at_router_ : outcomes_at_client_;
    if (s.begun && !s.frames.empty())
      stats_.first_token.add(s.frames.front() - *s.begun);
    for (std::size_t i = 1; i < s.frames.size(); ++i)
      stats_.inter_token.add(s.frames[i] - s.frames[i - 1]);
    if (s.begun && s.ended)
      stats_.end_to_end.add(*s.ended - *s.begun);
    add_differences(times.placed, times.heard_committed, stats_.reserve_to_commit);
    add_differences(times.computed, times.committed, stats_.hand_off);
  }

  /// Of the attempts that came to both.
  static void add_differences(const std::map<attempt_id, std::int64_t>& from,
                              const std::map<attempt_id, std::int64_t>& to, sample_set& samples) {
    for (const auto& [attempt, at] : to)
      if (const auto it = from.find(attempt); it != from.end())
        samples.add(std::max<std::int64_t>(0, at - it->second));
  }

  const trace_files& files_;
  trace_stats stats_;
  std::map<request_id, request_times> requests_;
  std::map<std::string, std::vector<std::int64_t>> submitted_; ///< sent, by external id
  std::map<std::string, std::uint64_t> outcomes_at_client_;
  std::map<std::string, std::uint64_t> outcomes_at_router_;
};

struct named_samples {
  const char* name;
  sample_set& samples;
};

std::vector<named_samples> all_samples(trace_stats& s) {
  return {{"first token", s.first_token},
          {"inter-token", s.inter_token},
          {"end to end", s.end_to_end},
          {"reserve to commit", s.reserve_to_commit},
          {"hand-off", s.hand_off},
          {"mailbox wait", s.mailbox_wait},
          {"handling", s.handling}};
}

} // namespace

std::int64_t sample_set::quantile_ns(int percent) {
  if (values_.empty())
    return 0;
  const std::size_t rank = (values_.size() * static_cast<std::size_t>(percent) + 99) / 100;
  const auto at = values_.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values_.begin(), at, values_.end());
  return *at;
}

trace_stats gather_stats(const trace_files& files) { return gathering(files).run(); }

std::string to_table(trace_stats& s) {
  char line[160];
  std::string text = "requests " + std::to_string(s.requests) + ", records "
                     + std::to_string(s.records) + ", messages per request "
                     + std::to_string(s.requests == 0 ? 0 : s.messages_of_requests / s.requests)
                     + "\n";
  for (const auto& [outcome, count] : s.outcomes)
    text += "  " + outcome + "  " + std::to_string(count) + "\n";
  text += "duration               count      p50 ms      p90 ms      p99 ms\n";
  for (auto& [name, samples] : all_samples(s)) {
    std::snprintf(line, sizeof line, "%-19s %8zu  %10s  %10s  %10s\n", name, samples.count(),
                  ms_text(samples.quantile_ns(50)).c_str(),
                  ms_text(samples.quantile_ns(90)).c_str(),
                  ms_text(samples.quantile_ns(99)).c_str());
    text += line;
  }
  std::uint64_t bytes = 0;
  for (const auto& [node, landed] : s.bytes_landed)
    bytes += landed;
  text += "bytes landed " + std::to_string(bytes) + " (payload, counted by the lanes of";
  for (const auto& [node, landed] : s.bytes_landed)
    text += " " + node + ": " + std::to_string(landed);
  return text + ")\n";
}

std::string to_json_text(trace_stats& s) {
  json out{{"requests", s.requests},
           {"records", s.records},
           {"messages_of_requests", s.messages_of_requests},
           {"outcomes", s.outcomes},
           {"bytes_landed_by_node", s.bytes_landed}};
  for (auto& [name, samples] : all_samples(s)) {
    std::string key = name;
    std::replace_if(key.begin(), key.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
    out["durations_ns"][key] = {{"count", samples.count()},
                                {"p50", samples.quantile_ns(50)},
                                {"p90", samples.quantile_ns(90)},
                                {"p99", samples.quantile_ns(99)}};
  }
  return to_text(out);
}

} // namespace baton::actors
