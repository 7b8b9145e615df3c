// The JSON form of a run, for programs that compare two of them.
#include "actors/client_report.hpp"

#include <cstdio>

namespace baton::actors {

using namespace protocol;

namespace {

json or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

/// 64 bits do not fit the numbers of every JSON reader.
std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

json phases_of(const request_account& account) {
  json phases = json::array();
  for (const auto& p : account.phases)
    phases.push_back({{"attempt", p.attempt},
                      {"phase", to_string(p.phase)},
                      {"at_ms", static_cast<double>(p.at.ns - account.submitted.ns) / 1e6}});
  return phases;
}

void add_frames(json& object, const request_account& account) {
  json tokens = json::array();
  json times = json::array();
  json digests = json::array();
  for (const auto& frame : account.frames) {
    tokens.push_back(frame.token);
    times.push_back(static_cast<double>(frame.at.ns - account.submitted.ns) / 1e6);
    if (frame.logits_digest != 0)
      digests.push_back(hex(frame.logits_digest));
  }
  object["tokens"] = std::move(tokens);
  object["token_times_ms"] = std::move(times);
  if (!digests.empty())
    object["logits_digests"] = std::move(digests);
  if (account.kv_digest != 0)
    object["kv_digest"] = hex(account.kv_digest);
}

json request_json(const request_account& account) {
  const auto timing = timing_of(account);
  json object{{"id", account.name()},
              {"text", account.text},
              {"ttft_ms", or_null(timing.ttft_ms)},
              {"itl_p50_ms", or_null(timing.itl_p50_ms)},
              {"total_ms", or_null(timing.total_ms)},
              {"phases", phases_of(account)}};
  if (const auto* over = account.end()) {
    object["request"] = to_string(over->ended.request);
    object["outcome"] = to_string(over->ended.kind);
    object["finish"] = to_string(over->ended.finish);
    object["reason"] = to_string(over->ended.why.why);
    object["message"] = over->ended.why.text;
    object["attempts"] = over->ended.attempts;
  } else {
    object["outcome"] = nullptr;
  }
  add_frames(object, account);
  return object;
}

json totals_json(const client_run& run) {
  const auto totals = totals_of(run);
  json outcomes = json::object();
  for (const auto& [what, count] : totals.outcomes)
    outcomes[what] = count;
  return {{"requests", run.accounts().size()},
          {"outcomes", std::move(outcomes)},
          {"tokens", totals.counts.tokens},
          {"elapsed_s", totals.elapsed_s},
          {"tokens_per_s", totals.tokens_per_s},
          {"ttft_p50_ms", or_null(totals.ttft_p50_ms)},
          {"ttft_p90_ms", or_null(totals.ttft_p90_ms)},
          {"ttft_p99_ms", or_null(totals.ttft_p99_ms)}};
}

} // namespace

json report_json(const script& script, const client_run& run, const run_verdict& verdict) {
  json requests = json::array();
  for (const auto& account : run.accounts())
    requests.push_back(request_json(account));
  return {{"script", script.name},
          {"requests", std::move(requests)},
          {"totals", totals_json(run)},
          {"exit_code", verdict.exit_code},
          {"failed", verdict.failed},
          {"pools", verdict.pools},
          {"trace", verdict.trace}};
}

} // namespace baton::actors
