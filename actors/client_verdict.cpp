#include "actors/client_verdict.hpp"

namespace baton::actors {

using namespace protocol;

namespace {

constexpr int exit_failed = 1;
constexpr int exit_refused = 2;
constexpr int exit_timed_out = 3;
constexpr int exit_interrupted = 130;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "nothing" : text;
}

class judging {
public:
  judging(const script& script, std::ostream& out) : script_(script), out_(out) {}

  void add(std::string line) {
    out_ << line << "\n";
    verdict_.failed.push_back(std::move(line));
  }

  void requests(const client_run& run, const token_files& files) {
    for (const auto& problem : run.problems())
      add("run: " + problem);
    for (const auto& line : failed_expectations(run, script_, files))
      add("expect: " + line);
  }

  void pools(const std::optional<pools_watch>& pools) {
    if (pools)
      verdict_.pools = pools->describe();
    if (pools && pools->all_free())
      out_ << verdict_.pools << "\n";
    else if (script_.expect.free_equals_capacity)
      add("expect: " + (pools ? verdict_.pools : "pools: the cluster could not be asked"));
  }

  void trace(const std::optional<pools_watch>& pools, const trace_checker& check) {
    if (!script_.expect.trace_check)
      return;
    if (!pools || !pools->all_free())
      return add("expect: trace_check: not possible, the cluster is not idle"
                 + (pools ? ": " + joined(pools->left_over()) : ""));
    const auto found = check();
    if (!found)
      return add("expect: trace_check: " + found.error().text);
    verdict_.trace = found.value().text;
    out_ << verdict_.trace;
    if (!found.value().ok)
      add("expect: trace_check: the trace breaks an invariant, see above");
  }

  run_verdict ended(int exit_code) {
    verdict_.exit_code = exit_code;
    return std::move(verdict_);
  }
  run_verdict ended() { return ended(verdict_.failed.empty() ? 0 : exit_failed); }

private:
  const script& script_;
  std::ostream& out_;
  run_verdict verdict_;
};

} // namespace

run_verdict judge(const client_result& result, const script& script, const token_files& files,
                  const trace_checker& check_trace, std::ostream& out) {
  judging j(script, out);
  switch (result.end) {
  case run_end::not_connected: j.add(result.error.text); return j.ended(exit_refused);
  case run_end::timed_out:
    j.add("timed out after " + std::to_string(script.timeout_ms)
          + " ms; open then: " + joined(result.open_at_end));
    return j.ended(exit_timed_out);
  case run_end::interrupted:
    j.add("interrupted; open then: " + joined(result.open_at_end));
    return j.ended(exit_interrupted);
  case run_end::played: break;
  }
  j.requests(result.run, files);
  j.pools(result.pools);
  j.trace(result.pools, check_trace);
  return j.ended();
}

} // namespace baton::actors
