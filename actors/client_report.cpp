#include "actors/client_report.hpp"

#include "actors/text_table.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

namespace baton::actors {

using namespace protocol;

namespace {

constexpr double ns_per_ms = 1e6;
constexpr double ns_per_s = 1e9;
constexpr std::size_t message_characters_max = 120;

double ms_from(instant from, instant to) {
  return static_cast<double>(to.ns - from.ns) / ns_per_ms;
}

std::string with_decimals(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string shown(const std::optional<double>& ms) { return ms ? with_decimals(*ms, 1) : "-"; }

std::string outcome_of(const request_account& account) {
  const auto* over = account.end();
  if (over != nullptr)
    return to_string(over->ended.kind);
  return account.is_open() ? "still open" : "not submitted";
}

std::string reason_of(const request_account& account) {
  const auto* over = account.end();
  if (over == nullptr || !over->ended.why)
    return over != nullptr && over->ended.finish != finish_reason::none
             ? to_string(over->ended.finish)
             : "-";
  return to_string(over->ended.why.why);
}

std::string message_of(const request_account& account) {
  if (account.end() == nullptr)
    return {};
  std::string text = account.end()->ended.why.text;
  if (text.size() > message_characters_max)
    text = text.substr(0, message_characters_max) + "...";
  return text;
}

std::string requests_table(const client_run& run) {
  std::vector<row> rows{{"request", "outcome", "reason", "tokens", "TTFT ms", "ITL p50 ms",
                         "total ms", "attempts", "message"}};
  for (const auto& a : run.accounts()) {
    const auto t = timing_of(a);
    rows.push_back({a.name(), outcome_of(a), reason_of(a), std::to_string(a.frames.size()),
                    shown(t.ttft_ms), shown(t.itl_p50_ms), shown(t.total_ms),
                    a.end() != nullptr ? std::to_string(a.end()->ended.attempts) : "-",
                    message_of(a)});
  }
  return table_text({side::left, side::left, side::left, side::right, side::right, side::right,
                     side::right, side::right, side::left},
                    rows);
}

/// The requests that share an outcome and a reason.
struct kind_sum {
  std::uint32_t requests = 0;
  std::uint64_t tokens = 0;
  std::vector<double> ttft_ms;
  std::vector<double> itl_ms;
  std::vector<double> total_ms;
};

void add_to(std::vector<double>& values, const std::optional<double>& value) {
  if (value)
    values.push_back(*value);
}

std::string kinds_table(const client_run& run) {
  std::map<std::pair<std::string, std::string>, kind_sum> sums;
  for (const auto& a : run.accounts()) {
    auto& sum = sums[{outcome_of(a), reason_of(a)}];
    const auto t = timing_of(a);
    ++sum.requests;
    sum.tokens += a.frames.size();
    add_to(sum.ttft_ms, t.ttft_ms);
    add_to(sum.itl_ms, t.itl_p50_ms);
    add_to(sum.total_ms, t.total_ms);
  }
  std::vector<row> rows{{"outcome", "reason", "requests", "tokens", "TTFT p50 ms", "ITL p50 ms",
                         "total p50 ms"}};
  for (const auto& [key, sum] : sums)
    rows.push_back({key.first, key.second, std::to_string(sum.requests),
                    std::to_string(sum.tokens), shown(percentile(sum.ttft_ms, 50)),
                    shown(percentile(sum.itl_ms, 50)), shown(percentile(sum.total_ms, 50))});
  return table_text({side::left, side::left, side::right, side::right, side::right, side::right,
                     side::right},
                    rows);
}

std::vector<std::pair<std::string, std::uint32_t>> outcomes_of(const client_run& run) {
  std::map<std::string, std::uint32_t> counts;
  for (const auto& a : run.accounts()) {
    const bool has_why = a.end() != nullptr && a.end()->ended.why;
    ++counts[outcome_of(a) + (has_why ? " (" + reason_of(a) + ")" : "")];
  }
  return {counts.begin(), counts.end()};
}

double elapsed_s_of(const client_run& run) {
  std::optional<instant> first;
  std::optional<instant> last;
  for (const auto& a : run.accounts()) {
    if (a.end() == nullptr)
      continue;
    first = first ? std::min(*first, a.submitted) : a.submitted;
    last = last ? std::max(*last, a.end()->at) : a.end()->at;
  }
  return first && last ? static_cast<double>(last->ns - first->ns) / ns_per_s : 0.0;
}

} // namespace

std::optional<double> percentile(std::vector<double> values, std::uint32_t percent) {
  if (values.empty())
    return {};
  const std::size_t rank = (values.size() * percent + 99) / 100; // from 1
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

request_timing timing_of(const request_account& account) {
  request_timing t;
  const auto& frames = account.frames;
  if (!frames.empty())
    t.ttft_ms = ms_from(account.submitted, frames.front().at);
  std::vector<double> gaps;
  for (std::size_t i = 1; i < frames.size(); ++i)
    gaps.push_back(ms_from(frames[i - 1].at, frames[i].at));
  t.itl_p50_ms = percentile(std::move(gaps), 50);
  if (account.end() != nullptr)
    t.total_ms = ms_from(account.submitted, account.end()->at);
  return t;
}

run_totals totals_of(const client_run& run) {
  run_totals totals;
  totals.counts = run.counts();
  totals.outcomes = outcomes_of(run);
  totals.elapsed_s = elapsed_s_of(run);
  if (totals.elapsed_s > 0)
    totals.tokens_per_s = static_cast<double>(totals.counts.tokens) / totals.elapsed_s;
  std::vector<double> ttft;
  for (const auto& a : run.accounts())
    add_to(ttft, timing_of(a).ttft_ms);
  totals.ttft_p50_ms = percentile(ttft, 50);
  totals.ttft_p90_ms = percentile(ttft, 90);
  totals.ttft_p99_ms = percentile(ttft, 99);
  return totals;
}

std::string summary(const client_run& run) {
  const auto totals = totals_of(run);
  const std::size_t requests = run.accounts().size();
  std::string text
    = requests <= table_requests_max ? requests_table(run) : kinds_table(run);
  text += "\nrequests: " + std::to_string(requests);
  for (const auto& [what, count] : totals.outcomes)
    text += ", " + std::to_string(count) + " " + what;
  text += "\ntokens: " + std::to_string(totals.counts.tokens) + " in "
          + with_decimals(totals.elapsed_s, 3) + " s, " + with_decimals(totals.tokens_per_s, 1)
          + " tokens/s\n";
  if (totals.ttft_p50_ms)
    text += "TTFT ms: p50 " + shown(totals.ttft_p50_ms) + ", p90 " + shown(totals.ttft_p90_ms)
            + ", p99 " + shown(totals.ttft_p99_ms) + "\n";
  return text;
}

} // namespace baton::actors
