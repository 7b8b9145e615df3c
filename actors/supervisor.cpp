#include "actors/supervisor.hpp"

#include "actors/hang_up.hpp"
#include "actors/run_directory.hpp"
#include "protocol/limits.hpp"
#include "protocol/path_choice.hpp"
#include "transport/ucx_environment.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace baton::actors {

using namespace protocol;

namespace {

std::int64_t clock_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

struct child {
  std::string name;
  int lines = -1; ///< read end of its standard output
  std::string partial;
};

class cluster_supervisor {
public:
  cluster_supervisor(std::string dir, const cluster_config& cluster, int out, supervision how)
    : dir_(std::move(dir)), cluster_(cluster), out_(out), how_(how) {}

  int run() {
    sigset_t watched;
    sigemptyset(&watched);
    for (const int s : {SIGINT, SIGTERM, SIGCHLD})
      sigaddset(&watched, s);
    if (!ignores_hang_up())
      sigaddset(&watched, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &watched, &inherited_);
    std::signal(SIGPIPE, SIG_IGN); // the cluster outlives whoever reads its lines
    signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    const auto claim = claim_run_directory(dir_);
    if (!claim) {
      say(claim.error().text);
      return 1;
    }
    start_children();
    while (!children_.empty())
      wait_once();
    remove_group_memory();
    unlink((dir_ + "/up.pid").c_str());
    return phase_ == phase::failed ? 1 : 0;
  }

private:
  enum class phase { forming, formed, stopping, failed };

  void start_children() {
    started_ms_ = clock_ms();
    if (cluster_.path == hand_off_path::loopback) {
      start("all");
      return;
    }
    for (const auto& node : nodes(cluster_))
      start(node.name.value);
  }

  void start(const std::string& name) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      return fail(name + ": pipe: " + std::strerror(errno));
    const pid_t pid = fork();
    if (pid < 0)
      return fail(name + ": fork: " + std::strerror(errno));
    if (pid == 0)
      become(name, ends[1]);
    close(ends[1]);
    children_[pid] = {name, ends[0], {}};
  }

  /// The child's side of fork: environment first, since UCX reads it before main().
  [[noreturn]] void become(const std::string& name, int lines) {
    prctl(PR_SET_PDEATHSIG, SIGTERM); // a killed supervisor leaves no nodes behind
    pthread_sigmask(SIG_SETMASK, &inherited_, nullptr);
    std::signal(SIGPIPE, SIG_DFL);
    transport::set_ucx_environment(cluster_.host, ucx_tls_for(cluster_.transport));
    const std::string log = dir_ + "/" + name + ".log";
    const int err = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(lines, STDOUT_FILENO);
    if (err >= 0)
      dup2(err, STDERR_FILENO);
    const char* const arguments[] = {"baton", "node",       "--dir", dir_.c_str(), "--name",
                                     name.c_str(), nullptr};
    execv("/proc/self/exe", const_cast<char* const*>(arguments));
    _exit(127);
  }

  void wait_once() {
    std::vector<pollfd> fds{{signals_, POLLIN, 0}};
    std::vector<pid_t> owners{0};
    for (const auto& [pid, c] : children_)
      if (c.lines >= 0) {
        fds.push_back({c.lines, POLLIN, 0});
        owners.push_back(pid);
      }
    if (how_ == supervision::detached && phase_ == phase::forming)
      fds.push_back({out_, 0, 0}); // POLLERR: who waits for the cluster to form has gone
    poll(fds.data(), fds.size(), timeout_ms());
    for (std::size_t i = 1; i < owners.size(); ++i)
      if (fds[i].revents != 0)
        read_lines(children_.at(owners[i]));
    if (fds.size() > owners.size() && (fds.back().revents & POLLERR) != 0)
      stop();
    read_signals();
    reap();
    if (kill_at_ms_ > 0 && clock_ms() >= kill_at_ms_)
      kill_all();
  }

  int timeout_ms() const {
    if (kill_at_ms_ == 0)
      return -1;
    const std::int64_t left = kill_at_ms_ - clock_ms();
    return left > 0 ? static_cast<int>(left) : 0;
  }

  void read_lines(child& c) {
    char buffer[4096];
    const ssize_t n = read(c.lines, buffer, sizeof buffer);
    if (n <= 0) {
      close(c.lines);
      c.lines = -1;
      return;
    }
    c.partial.append(buffer, static_cast<std::size_t>(n));
    for (std::size_t end = c.partial.find('\n'); end != std::string::npos;
         end = c.partial.find('\n')) {
      take_line(c.partial.substr(0, end));
      c.partial.erase(0, end + 1);
    }
  }

  void take_line(const std::string& line) {
    if (line != "formed")
      return say(line);
    say("cluster formed in " + std::to_string(clock_ms() - started_ms_) + " ms: " + cluster_.name
        + ", run directory " + dir_);
    phase_ = phase::formed;
    if (how_ == supervision::detached) {
      const int log = open((dir_ + "/up.log").c_str(),
                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      close(out_);
      out_ = log;
      for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        dup2(log, fd); // whoever waits for our output must not wait for the whole run
    }
  }

  void read_signals() {
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == sizeof info)
      if (info.ssi_signo != SIGCHLD)
        stop();
  }

  void reap() {
    int status = 0;
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
      const auto it = children_.find(pid);
      if (it == children_.end())
        continue;
      while (it->second.lines >= 0)
        read_lines(it->second);
      const std::string name = it->second.name;
      children_.erase(it);
      ended(name, status);
    }
  }

  void ended(const std::string& name, int status) {
    if (phase_ == phase::stopping || phase_ == phase::failed)
      return;
    const std::string how = WIFSIGNALED(status)
                              ? "signal " + std::to_string(WTERMSIG(status))
                              : "exit code " + std::to_string(WEXITSTATUS(status));
    say(name + " ended by " + how + "; its log is " + dir_ + "/" + name + ".log");
    if (phase_ == phase::forming)
      fail("the cluster could not form");
  }

  void fail(const std::string& why) {
    say(why);
    stop();
    phase_ = phase::failed;
  }

  void stop() {
    if (kill_at_ms_ > 0)
      return;
    phase_ = phase::stopping;
    kill_at_ms_ = clock_ms() + limits::shutdown_wait_ms_max;
    for (const auto& [pid, c] : children_)
      kill(pid, SIGTERM);
  }

  void kill_all() {
    for (const auto& [pid, c] : children_) {
      say(c.name + " did not end in time and is killed");
      kill(pid, SIGKILL);
    }
    kill_at_ms_ = clock_ms() + limits::shutdown_wait_ms_max;
  }

  /// Of groups whose ranks have not all met.
  void remove_group_memory() {
    if (const auto run_id = read_file(dir_ + "/run_id"))
      for (const auto& group : cluster_.groups)
        shm_unlink(group_memory_name(run_id.value(), group.name).c_str());
  }

  void say(const std::string& text) {
    const std::string line = text + "\n";
    if (write(out_, line.data(), line.size()) < 0)
      return; // nobody listens any more
  }

  std::string dir_;
  const cluster_config& cluster_;
  int out_;
  supervision how_;
  phase phase_ = phase::forming;
  sigset_t inherited_{};
  int signals_ = -1;
  std::int64_t started_ms_ = 0;
  std::int64_t kill_at_ms_ = 0; ///< 0: nobody has been asked to stop
  std::map<pid_t, child> children_;
};

} // namespace

int supervise(const std::string& dir, const cluster_config& cluster, int out, supervision how) {
  return cluster_supervisor(dir, cluster, out, how).run();
}

} // namespace baton::actors
