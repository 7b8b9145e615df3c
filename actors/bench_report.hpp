// What a bench says: one JSON object a line, a ratio to a baseline of the same run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace baton::actors::bench {

/// CPU seconds of one process of each side, in each round.
struct cpu_seconds {
  std::vector<double> source;
  std::vector<double> destination;
};

/// The value and its baseline of each round; the ratio is the median of the rounds' ratios.
struct measurement {
  std::string bench;
  std::string path;
  std::string unit; ///< of value and baseline
  std::string baseline_what;
  std::vector<double> values;
  std::vector<double> baselines;
  cpu_seconds cpu;          ///< while the value was measured
  cpu_seconds baseline_cpu; ///< while the baseline was
  std::vector<std::pair<std::string, double>> more = {}; ///< further figures of this bench alone
};

double median(std::vector<double> values);

/// Seconds of the monotonic clock.
double clock_s();

/// How much of the machine nobody else used, from its making to share(): 0 to 1. Below 0.9 a figure
/// says more about the others than about Baton.
class idleness {
public:
  idleness();
  double share() const;

private:
  double begin_busy_s_ = 0;
  double begin_s_ = 0;
};

/// CPU seconds of this process and of all that it has waited for.
double own_cpu_s();
/// CPU nanoseconds of this process alone, all its threads.
std::uint64_t process_cpu_ns();

std::string to_json_line(const measurement& m, double idle);

} // namespace baton::actors::bench
