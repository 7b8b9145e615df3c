#include "actors/process_watch.hpp"

#include "actors/device_messages.hpp"
#include "actors/shell.hpp"
#include "transport/signals_blocked.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <poll.h>
#include <sstream>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace baton::actors {

using namespace protocol;

namespace {

/// The kernel says when a process has died, not when its parent has collected it: looked at again.
constexpr int reaped_look_ms = 20;

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string link_of(const char* path) {
  char target[64];
  const ssize_t n = readlink(path, target, sizeof target);
  return n > 0 ? std::string(target, static_cast<std::size_t>(n)) : std::string();
}

/// Field 22 of /proc/NUMBER/stat (proc(5)). Field 2 is a name that may hold anything, so that
/// fields are counted from its closing parenthesis.
std::optional<std::uint64_t> start_ticks_of(std::int32_t number) {
  std::ifstream file("/proc/" + std::to_string(number) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos)
    return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  std::string skipped;
  for (int number = 3; number < 22; ++number)
    rest >> skipped;
  std::uint64_t ticks = 0;
  if (!(rest >> ticks))
    return std::nullopt;
  return ticks;
}

/// A process that has died and waits for its parent still takes signal 0.
bool is_reaped(int pidfd) {
  return syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) != 0 && errno == ESRCH;
}

struct opened {
  enum class kind : std::uint8_t { watched, gone, refused } what;
  int pidfd = -1;
  std::string why;
};

/// A process that was seen alive under this number and start, and is not found there, has been
/// reaped: only then is its number free.
opened open_process(const process_identity& asked, const process_identity& own) {
  if (own.host.empty() || asked.host != own.host)
    return {opened::kind::refused, -1, "it is of another host, or not to be seen from here"};
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, asked.number, 0));
  if (pidfd < 0 && errno == ESRCH)
    return {opened::kind::gone, -1, {}};
  if (pidfd < 0)
    return {opened::kind::refused, -1, std::string("pidfd_open: ") + std::strerror(errno)};
  // Read after opening: whoever has the asked start now has had this number since, and is the one
  // that was opened.
  const auto start = start_ticks_of(asked.number);
  if (start == asked.start_ticks)
    return {opened::kind::watched, pidfd, {}};
  const bool gone = start || is_reaped(pidfd);
  close(pidfd);
  if (gone)
    return {opened::kind::gone, -1, {}};
  return {opened::kind::refused, -1, "when it started cannot be read"};
}

} // namespace

process_identity process_numbered(std::int32_t number) {
  const auto start = start_ticks_of(number);
  const std::string boot = first_line_of("/proc/sys/kernel/random/boot_id");
  const std::string numbers = link_of("/proc/self/ns/pid");
  if (!start || boot.empty() || numbers.empty())
    return {};
  // The start is counted in the reader's time namespace; kernels without them have no such link.
  return {boot + " " + numbers + " " + link_of("/proc/self/ns/time"), number, *start};
}

process_identity own_process() { return process_numbered(getpid()); }

class process_watch::watcher {
public:
  explicit watcher(node_context& node)
    : node_(node), label_(node.name.value + ":process_watch"), own_(own_process()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  ~watcher() {
    for (const auto& w : watched_)
      close(w.pidfd);
    close(wake_);
  }

  void ask(const node_name& of, const incarnation& life, const process_identity& process,
           handle to) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      asked_.push_back({of, life, process, std::move(to)});
    }
    eventfd_write(wake_, 1);
  }

  void stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      asked_.clear();
    }
    eventfd_write(wake_, 1);
  }

  void run() {
    while (begin_asked()) {
      wait();
      look();
    }
    for (auto& w : watched_)
      w.to = {};
  }

private:
  struct watched_process {
    node_name node;
    incarnation life;
    process_identity process;
    handle to;
    int pidfd = -1;
    bool readable = false; ///< as the last wait found it
    bool dead = false;
    bool over = false;     ///< nothing more to be said
  };

  /// False: stop.
  bool begin_asked() {
    std::vector<watched_process> asked;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_)
        return false;
      asked.swap(asked_);
    }
    for (auto& s : asked)
      begin(std::move(s));
    return true;
  }

  void begin(watched_process s) {
    for (const auto& w : watched_)
      if (w.life == s.life)
        return; // met again
    opened found = watched_.size() < watched_max
                     ? open_process(s.process, own_)
                     : opened{opened::kind::refused, -1, "too many processes are watched"};
    switch (found.what) {
    case opened::kind::refused:
      say(s, watch_refused{s.node, s.life, {reason::unsupported, std::move(found.why)}});
      return;
    case opened::kind::gone:
      say_died(s);
      say_reaped(s);
      return;
    case opened::kind::watched:
      s.pidfd = found.pidfd;
      watched_.push_back(std::move(s));
    }
  }

  void wait() {
    std::vector<pollfd> fds{{wake_, POLLIN, 0}};
    int timeout_ms = wake_ < 0 ? reaped_look_ms : -1;
    for (const auto& w : watched_) {
      fds.push_back({w.dead ? -1 : w.pidfd, POLLIN, 0}); // -1: poll passes over it
      if (w.dead)
        timeout_ms = reaped_look_ms;
    }
    poll(fds.data(), fds.size(), timeout_ms);
    eventfd_t pokes = 0;
    eventfd_read(wake_, &pokes);
    for (std::size_t i = 0; i < watched_.size(); ++i)
      watched_[i].readable = (fds[i + 1].revents & POLLIN) != 0;
  }

  void look() {
    for (auto& w : watched_) {
      if (w.readable && !w.dead) {
        w.dead = true;
        say_died(w);
      }
      if (!w.dead || !is_reaped(w.pidfd))
        continue;
      say_reaped(w);
      close(w.pidfd);
      w.over = true;
    }
    const auto over = [](const watched_process& w) { return w.over; };
    watched_.erase(std::remove_if(watched_.begin(), watched_.end(), over), watched_.end());
  }

  void say_died(const watched_process& s) {
    say(s, process_died{s.node, s.life, s.process.number});
  }
  void say_reaped(const watched_process& s) {
    say(s, process_reaped{s.node, s.life, s.process.number});
  }

  template <class T>
  void say(const watched_process& s, T message) {
    post(node_, label_, s.to, std::move(message));
  }

  node_context& node_;
  const std::string label_;
  const process_identity own_;
  const int wake_;
  std::mutex mutex_;
  std::vector<watched_process> asked_; ///< guarded by the mutex, like `stopping_`
  bool stopping_ = false;
  std::vector<watched_process> watched_; ///< the thread's own
};

process_watch::process_watch(node_context& node) : watcher_(std::make_unique<watcher>(node)) {}

process_watch::~process_watch() { stop(); }

void process_watch::watch(const node_name& of, const incarnation& life,
                          const process_identity& process, handle to) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_)
    return;
  watcher_->ask(of, life, process, std::move(to));
  if (thread_.joinable())
    return;
  const transport::signals_blocked blocked;
  thread_ = std::thread([this] { watcher_->run(); });
}

void process_watch::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  watcher_->stop();
  if (thread_.joinable())
    thread_.join();
}

} // namespace baton::actors
