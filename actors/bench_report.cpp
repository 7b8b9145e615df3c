#include "actors/bench_report.hpp"

#include "protocol/json_codec.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace baton::actors::bench {

namespace {

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

double cpu_s(int who) {
  rusage used{};
  getrusage(who, &used);
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Busy seconds of all cores since the machine's start (first line of /proc/stat: user, nice,
/// system, idle, iowait, irq, softirq, steal, in clock ticks).
double machine_busy_s() {
  std::ifstream file("/proc/stat");
  std::string name;
  double ticks[8] = {};
  file >> name;
  for (double& t : ticks)
    file >> t;
  const double busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7];
  return busy / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double rounded(double value) {
  const double scale = std::pow(10.0, 3 - std::ceil(std::log10(std::max(std::abs(value), 1e-9))));
  return std::round(value * scale) / scale;
}

protocol::json to_json(const cpu_seconds& s) {
  return {{"source", rounded(median(s.source))}, {"destination", rounded(median(s.destination))}};
}

} // namespace

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double own_cpu_s() { return cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN); }

std::uint64_t process_cpu_ns() {
  return static_cast<std::uint64_t>(cpu_s(RUSAGE_SELF) * 1e9);
}

idleness::idleness() : begin_busy_s_(machine_busy_s() - own_cpu_s()), begin_s_(clock_s()) {}

double idleness::share() const {
  const double others = machine_busy_s() - own_cpu_s() - begin_busy_s_;
  const double all = (clock_s() - begin_s_) * std::max(1U, std::thread::hardware_concurrency());
  return all <= 0 ? 1 : std::clamp(1 - others / all, 0.0, 1.0);
}

std::string to_json_line(const measurement& m, double idle) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < m.values.size(); ++i)
    ratios.push_back(m.baselines[i] > 0 ? m.values[i] / m.baselines[i] : 0);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  protocol::json line{{"bench", m.bench},
                      {"path", m.path},
                      {"value", rounded(median(m.values))},
                      {"unit", m.unit},
                      {"baseline", rounded(median(m.baselines))},
                      {"baseline_what", m.baseline_what},
                      {"ratio", rounded(median(ratios))},
                      {"ratio_min", rounded(*least)},
                      {"ratio_max", rounded(*most)},
                      {"rounds", m.values.size()},
                      {"idle", rounded(idle)}};
  if (!m.cpu.source.empty()) {
    line["cpu_s"] = to_json(m.cpu);
    line["baseline_cpu_s"] = to_json(m.baseline_cpu);
  }
  for (const auto& [name, figure] : m.more)
    line[name] = rounded(figure);
  return line.dump();
}

} // namespace baton::actors::bench
