#include "tests/transport/roles.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace baton::transport::testing {

namespace {

constexpr int child_connection = 3;

bool write_all(int fd, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t n = ::send(fd, at, size, MSG_NOSIGNAL);
    if (n <= 0)
      return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool read_all(int fd, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t n = ::read(fd, at, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

struct introduction {
  incarnation life;
  std::vector<std::byte> descriptor;
};

bool write_introduction(int fd, const introduction& i) {
  const std::uint64_t size = i.descriptor.size();
  return write_all(fd, &i.life, sizeof i.life) && write_all(fd, &size, sizeof size)
         && write_all(fd, i.descriptor.data(), size);
}

bool read_introduction(int fd, introduction& i) {
  std::uint64_t size = 0;
  if (!read_all(fd, &i.life, sizeof i.life) || !read_all(fd, &size, sizeof size))
    return false;
  i.descriptor.resize(size);
  return read_all(fd, i.descriptor.data(), size);
}

/// Never returns unless it could not begin.
int play_writer() {
  introduction other;
  if (!write_introduction(child_connection, {fresh_life(), {}})
      || !read_introduction(child_connection, other))
    return 2;
  const auto peer = wire::decode_descriptor(other.descriptor.data(), other.descriptor.size());
  if (!peer || !peer.value().region)
    return 3;
  auto window = arena::reserve_window(peer.value().region->bytes);
  if (!window || window.value().map_peer(*peer.value().region))
    return 4;
  for (std::uint64_t count = 1;; ++count)
    for (std::uint64_t at = 0; at < window.value().bytes(); at += writer_page_bytes)
      std::memcpy(window.value().base() + at, &count, sizeof count);
}

path_kind path_of(const std::string& role) {
  return role.find("shared_arena") != std::string::npos ? path_kind::shared_arena
                                                        : path_kind::pull;
}

} // namespace

lane_grant role_grant(incarnation source) {
  return plain_grant(lane_numbered(1), source, role_pieces, role_piece_bytes);
}

node_options role_options() {
  node_options options;
  options.arena_bytes = role_pieces * role_piece_bytes;
  return options;
}

int play_role(const std::string& role) {
  if (role == "writer")
    return play_writer();
  const bool is_source = role.compare(0, 6, "source") == 0;
  hub unused;
  auto self = make_node(path_of(role), unused, "child", role_options());
  if (is_source)
    fill_pattern(self->memory->base(), self->memory->bytes(), role_seed);
  introduction other;
  if (!write_introduction(child_connection, {self->life, self->device->descriptor()})
      || !read_introduction(child_connection, other))
    return 2;
  const lane_grant grant = role_grant(is_source ? self->life : other.life);
  if (!is_source)
    self->device->admit(grant);
  self->device->connect(node_name{"test"}, other.life, other.descriptor);
  const auto connected = self->events.next<peer_connected>();
  if (!connected || connected->error)
    return 3;
  if (is_source)
    for (std::uint32_t piece = 0; piece < role_pieces; ++piece)
      self->device->offer(node_name{"test"}, plain_offer(grant, piece));
  char byte = 0;
  while (read_all(child_connection, &byte, 1)) {
    // until the parent closes or kills
  }
  return 0;
}

child::child(const std::string& role) {
  int ends[2] = {-1, -1};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const std::string argument = "role=" + role;
  const char* arguments[] = {"transport_tests", argument.c_str(), nullptr};
  pid_ = fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    // UCX's sockets are not CLOEXEC: a child that keeps them makes a dead peer look alive.
    dup2(ends[1], child_connection);
    close_range(child_connection + 1, ~0U, 0);
    execv("/proc/self/exe", const_cast<char**>(arguments));
    _exit(127);
  }
  close(ends[1]);
  connection_ = ends[0];
}

child::~child() {
  kill_and_reap();
  close(connection_);
}

void child::meet() {
  introduction other;
  REQUIRE(read_introduction(connection_, other));
  life_ = other.life;
  descriptor_ = std::move(other.descriptor);
}

void child::introduce_to(node& here) {
  here.device->connect(name(), life_, descriptor_);
  REQUIRE(write_introduction(connection_, {here.life, here.device->descriptor()}));
  const auto connected = here.events.next<peer_connected>();
  REQUIRE(connected);
  REQUIRE_MESSAGE(!connected->error, connected->error.text);
}

void child::give(const node& here) {
  REQUIRE(write_introduction(connection_, {here.life, here.device->descriptor()}));
}

bool child::runs() const {
  siginfo_t facts = {};
  return waitid(P_PID, static_cast<id_t>(pid_), &facts, WEXITED | WNOHANG | WNOWAIT) == 0
         && facts.si_pid == 0;
}

void child::send_signal(int signal) const {
  REQUIRE(::kill(pid_, signal) == 0);
}

void child::kill_and_reap() {
  if (pid_ < 0)
    return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

} // namespace baton::transport::testing
