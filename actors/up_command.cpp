#include "actors/up_command.hpp"

#include "actors/path_measure.hpp"
#include "actors/run_directory.hpp"
#include "actors/supervisor.hpp"
#include "protocol/path_choice.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <csignal>
#include <iostream>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace baton::actors {

using namespace protocol;

namespace {

constexpr int exit_refused = 2;

/// The paths are tried before anything is started; what is found is said.
outcome<cluster_config> measured(cluster_config cluster, const std::string& file) {
  std::cout << "measuring the paths that " << file << " can take" << std::endl;
  auto chosen = with_measured_path(std::move(cluster));
  if (!chosen)
    return failure{chosen.error().why, file + ": " + chosen.error().text};
  std::cout << "path " << path_text(chosen.value()) << std::endl;
  return chosen;
}

/// The child supervises in a session of its own; the parent returns when the cluster has formed.
int detach(const std::string& dir, const cluster_config& cluster) {
  int ends[2];
  if (pipe(ends) != 0) {
    std::cerr << "baton up: pipe: " << std::strerror(errno) << "\n";
    return 1;
  }
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    close(ends[0]);
    return supervise(dir, cluster, ends[1], supervision::detached);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n = read(ends[0], buffer, sizeof buffer); n > 0;
       n = read(ends[0], buffer, sizeof buffer)) {
    text.append(buffer, static_cast<std::size_t>(n));
    std::cout.write(buffer, n).flush();
    if (text.find("cluster formed") != std::string::npos)
      return 0;
  }
  return 1; // the supervisor ended before the cluster formed, and has said why
}

} // namespace

int up_main(int argc, char** argv) {
  std::string file;
  std::string dir = "run";
  bool detached = false;
  CLI::App app{"Starts every node of a cluster file on this host, one process each, and watches "
               "over them until SIGINT, SIGTERM or SIGHUP.",
               "baton up"};
  app.add_option("cluster", file, "cluster file, such as deploy/cluster/teaching.json")->required();
  app.add_option("--dir", dir, "run directory: resolved cluster file, traces, logs")
    ->capture_default_str();
  app.add_flag("--detach", detached, "return once the cluster has formed; stop it with baton down");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_refused;
  }
  auto cluster = read_cluster(file);
  if (cluster)
    cluster = with_ports(std::move(cluster.value()), file);
  if (cluster && cluster.value().measures_path)
    cluster = measured(std::move(cluster.value()), file);
  failure why = cluster ? make_run_directory(dir, cluster.value()) : cluster.error();
  if (why) {
    std::cerr << "baton up: " << why.text << "\n";
    return exit_refused;
  }
  if (detached)
    return detach(dir, cluster.value());
  return supervise(dir, cluster.value(), STDOUT_FILENO, supervision::attached);
}

int down_main(int argc, char** argv) {
  std::string dir = "run";
  CLI::App app{"Stops the cluster of a run directory and waits until it has ended.",
               "baton down"};
  app.add_option("--dir", dir, "run directory")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_refused;
  }
  const std::string file = dir + "/up.pid";
  if (access(file.c_str(), R_OK) != 0 && errno != ENOENT) {
    std::cerr << "baton down: " << file << ": " << std::strerror(errno) << "\n";
    return 1;
  }
  const int pid = running_supervisor(dir);
  if (pid == 0) {
    std::cerr << "baton down: no cluster runs in " << dir << "\n";
    return 1;
  }
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (kill(pid, SIGTERM) != 0 && errno != ESRCH) { // ended just now: as asked
    std::cerr << "baton down: process " << pid << " cannot be stopped: " << std::strerror(errno)
              << "\n";
    return 1;
  }
  pollfd ended{fd, POLLIN, 0};
  const bool gone = fd < 0 || poll(&ended, 1, 20'000) > 0;
  if (fd >= 0)
    close(fd);
  if (!gone) {
    std::cerr << "baton down: process " << pid << " has not ended after 20 s\n";
    return 1;
  }
  std::cout << "stopped\n";
  return 0;
}

} // namespace baton::actors
