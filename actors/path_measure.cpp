#include "actors/path_measure.hpp"

#include "protocol/json_codec.hpp"
#include "protocol/path_choice.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace baton::actors {

using namespace protocol;

namespace {

constexpr auto patience = std::chrono::seconds(10); ///< for each path
/// 40 MB by one pair of processes: more than caches hold, and done in a tenth of a second.
constexpr const char* shrink = "64";
constexpr const char* rounds = "3";

const char* bench_path(const path_cost& cost) {
  if (cost.path == hand_off_path::shared_arena)
    return "shared_arena";
  switch (cost.transport) {
  case ucx_transport::shared_memory: return "shared_memory";
  case ucx_transport::tcp: return "tcp";
  case ucx_transport::any:
  case ucx_transport::cma: break;
  }
  return "pull";
}

[[noreturn]] void become_bench(const path_cost& cost, integrity_check check, int out) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL); // its own processes end when their pipes close
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  const char* const words[] = {"baton",     "bench",    "handoff", "--path",
                               bench_path(cost), "--ranks",  "1",       "--shrink",
                               shrink,      "--rounds", rounds,    "--integrity",
                               to_string(check), nullptr};
  execv("/proc/self/exe", const_cast<char* const*>(words));
  _exit(127);
}

/// Everything that it prints; cut off, and the process with it, when it takes too long.
std::string output_of(pid_t child, int from) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::string text;
  char buffer[1024];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
    pollfd readable{from, POLLIN, 0};
    if (left.count() <= 0 || poll(&readable, 1, static_cast<int>(left.count())) == 0) {
      kill(-child, SIGKILL);
      return "no answer within " + std::to_string(patience.count()) + " s";
    }
    const ssize_t n = read(from, buffer, sizeof buffer);
    if (n <= 0)
      return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

std::string first_line(const std::string& text) {
  return text.empty() ? "it ended without a word" : text.substr(0, text.find('\n'));
}

/// The bench's own line; UCX may have printed others.
std::string figures_in(const std::string& said) {
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line.front() == '{')
      return line;
  return "";
}

/// Fills in the rate, or why there is none.
void take_in(path_cost& cost, const std::string& said, bool ended_well) {
  const auto line = parse_text(ended_well ? figures_in(said) : "");
  if (!line || !line.value().contains("value") || !line.value().contains("path")) {
    cost.refused = first_line(said);
    return;
  }
  cost.refused = wrong_transport(cost.path == hand_off_path::pull ? cost.transport
                                                                 : ucx_transport::any,
                                 line.value()["path"].get<std::string>());
  if (cost.refused.empty())
    cost.bytes_per_s
      = static_cast<std::uint64_t>(line.value()["value"].get<double>() * 1e9);
}

void measure(path_cost& cost, integrity_check check) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    cost.refused = std::string("pipe: ") + std::strerror(errno);
    return;
  }
  const pid_t child = fork();
  if (child == 0)
    become_bench(cost, check, ends[1]);
  close(ends[1]);
  const std::string said = child < 0 ? std::string("fork: ") + std::strerror(errno)
                                     : output_of(child, ends[0]);
  close(ends[0]);
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  take_in(cost, said, child > 0 && status == 0);
}

} // namespace

outcome<cluster_config> with_measured_path(cluster_config cluster) {
  if (!cluster.measures_path)
    return cluster;
  cluster.path_costs = paths_to_measure(cluster);
  for (path_cost& cost : cluster.path_costs)
    if (cost.refused.empty() && cost.path != hand_off_path::in_place)
      measure(cost, cluster.integrity);
  const auto chosen = choose_path(cluster.path_costs, cluster.prefer);
  if (!chosen) {
    std::string why = "path: measured, and none can be taken";
    for (const path_cost& cost : cluster.path_costs)
      why += "; " + to_text(cost);
    return failure{reason::unsupported, why};
  }
  cluster.measures_path = false;
  cluster.path = cluster.path_costs[*chosen].path;
  cluster.transport = cluster.path_costs[*chosen].transport;
  return cluster;
}

} // namespace baton::actors
