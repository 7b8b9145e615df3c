#include "actors/bench_pipe.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <csignal>
#include <unistd.h>
#include <utility>

namespace baton::actors::bench {

namespace {

constexpr int starter_fd = 3;
constexpr std::uint64_t blob_bytes_max = 1U << 20;

/// "/proc/self/exe" would be another program's after `ip` has been run.
std::string own_program() {
  std::error_code unheard;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", unheard);
  return unheard ? "baton" : path.string();
}

} // namespace

void give_up(const std::string& why) {
  std::fprintf(stderr, "baton bench: %s\n", why.c_str());
  std::_Exit(1);
}

pipe_end::pipe_end(int fd) : fd_(fd) {}
pipe_end::pipe_end(pipe_end&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
pipe_end::~pipe_end() {
  if (fd_ >= 0)
    close(fd_);
}

void pipe_end::write_all(const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t n = ::send(fd_, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      give_up("the other process of the bench has ended");
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

bool pipe_end::read_all(void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    pollfd there{fd_, POLLIN, 0};
    const int ready = poll(&there, 1, answer_patience_s * 1000);
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready == 0)
      give_up("the other process of the bench does not answer");
    const ssize_t n = read(fd_, at, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

void pipe_end::send(std::uint64_t number) { write_all(&number, sizeof number); }

bool pipe_end::receive_or_end(std::uint64_t& number) { return read_all(&number, sizeof number); }

std::uint64_t pipe_end::receive() {
  std::uint64_t number = 0;
  if (!receive_or_end(number))
    give_up("the other process of the bench has ended");
  return number;
}

void pipe_end::send_bytes(const std::vector<std::byte>& bytes) {
  send(bytes.size());
  write_all(bytes.data(), bytes.size());
}

std::vector<std::byte> pipe_end::receive_bytes() {
  const std::uint64_t size = receive();
  if (size > blob_bytes_max)
    give_up("the other process of the bench talks nonsense");
  std::vector<std::byte> bytes(size);
  if (!read_all(bytes.data(), size))
    give_up("the other process of the bench has ended");
  return bytes;
}

partner start_partner(const std::string& role, const std::vector<std::string>& arguments,
                      const std::string& name_space) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    give_up("socketpair failed");
  const pid_t starter = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != starter)
      std::_Exit(1); // it died before we could ask to follow it
    std::vector<std::string> words{own_program(), "bench", "--role", role};
    if (!name_space.empty())
      words.insert(words.begin(), {"ip", "netns", "exec", name_space});
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    if (ends[1] == starter_fd)
      fcntl(starter_fd, F_SETFD, 0);
    else
      dup2(ends[1], starter_fd);
    close_range(starter_fd + 1, ~0U, 0);
    if (name_space.empty())
      execv("/proc/self/exe", argv.data());
    else
      execvp(argv.front(), argv.data());
    std::_Exit(127);
  }
  close(ends[1]);
  if (pid < 0)
    give_up("fork failed");
  return {pid, pipe_end(ends[0])};
}

pipe_end pipe_to_starter() {
  fcntl(starter_fd, F_SETFD, FD_CLOEXEC);
  return pipe_end(starter_fd);
}

void end_partner(partner&& ended) {
  const pid_t pid = ended.pid;
  { const pipe_end closed(std::move(ended.pipe)); }
  const int watch = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd gone{watch, POLLIN, 0};
  if (watch < 0 || poll(&gone, 1, 1000) <= 0)
    kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  if (watch >= 0)
    close(watch);
}

} // namespace baton::actors::bench
