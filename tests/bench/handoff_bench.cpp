// How fast KV blocks move from one process to another: 512 pieces of 1.25 MiB, in a shuffled order,
// as a ratio to one thread's memcpy of the same blocks in the same run. Prints one JSON object per
// path. The source is a second process, started before any UCX object exists here.
//
//   handoff_bench [rounds]
#include "transport/ucx.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace baton::transport;

namespace {

constexpr std::uint32_t pieces = 512;
constexpr std::uint64_t piece_bytes = 5ULL << 18;
constexpr int child_connection = 3;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Counts what the waits below need.
class tally {
public:
  void record(const transfer_event& e) {
    const std::lock_guard<std::mutex> lock(mutex_);
    landed_ += std::holds_alternative<piece_landed>(e) ? 1 : 0;
    const auto* connected = std::get_if<peer_connected>(&e);
    connected_ = connected_ || (connected != nullptr && !connected->error);
    admitted_ += std::holds_alternative<lane_admitted>(e) ? 1 : 0;
    if (connected != nullptr)
      path_ = connected->path;
    changed_.notify_all();
  }
  bool wait_landed(std::uint64_t count) {
    return wait([this, count] { return landed_ >= count; });
  }
  bool wait_admitted(std::uint64_t count) {
    return wait([this, count] { return admitted_ >= count; });
  }
  bool wait_connected() {
    return wait([this] { return connected_; });
  }
  std::string path() const { return path_; }

private:
  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), condition);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t landed_ = 0;
  std::uint64_t admitted_ = 0;
  bool connected_ = false;
  std::string path_;
};

void transfer_all(int fd, void* bytes, std::size_t size, bool sending) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t n = sending ? write(fd, at, size) : read(fd, at, size);
    if (n <= 0)
      std::_Exit(sending ? 3 : 0); // the other side has ended
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

std::vector<std::byte> swap_descriptors(int fd, std::vector<std::byte> mine) {
  std::uint64_t size = mine.size();
  transfer_all(fd, &size, sizeof size, true);
  transfer_all(fd, mine.data(), size, true);
  transfer_all(fd, &size, sizeof size, false);
  std::vector<std::byte> theirs(size);
  transfer_all(fd, theirs.data(), size, false);
  return theirs;
}

std::vector<std::uint32_t> shuffled(unsigned seed) {
  std::vector<std::uint32_t> order(pieces);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

lane_id lane_of(std::uint64_t round) {
  lane_id lane;
  lane.reservation = {{1, 1}, round};
  return lane;
}

struct bench_node {
  bench_node(path_kind path, incarnation life)
    : memory(std::move((path == path_kind::shared_arena
                          ? arena::create_shared(pieces * piece_bytes)
                          : arena::create_private(pieces * piece_bytes))
                         .value())) {
    std::memset(memory.base(), 1, memory.bytes());
    auto made = make_ucx(path, life, memory, {}, [this](transfer_event e) { seen.record(e); });
    if (!made.ok()) {
      std::fprintf(stderr, "handoff_bench: %s\n", made.error().text.c_str());
      std::_Exit(1);
    }
    device = std::move(made.value());
  }
  arena memory;
  tally seen;
  std::unique_ptr<endpoint> device;
};

constexpr incarnation source_life{1, 10};
constexpr incarnation destination_life{1, 20};

block_ref block_of(std::uint32_t piece) {
  return {baton::protocol::block_id{piece}, baton::protocol::generation{1}};
}

/// The child: offers every piece once for each round that is asked for.
int run_source(path_kind path) {
  bench_node self(path, source_life);
  auto theirs = swap_descriptors(child_connection, self.device->descriptor());
  self.device->connect(node_name{"D"}, destination_life, std::move(theirs));
  if (!self.seen.wait_connected())
    return 2;
  const auto order = shuffled(1);
  for (;;) {
    std::uint64_t round = 0;
    transfer_all(child_connection, &round, sizeof round, false);
    for (std::uint32_t i = 0; i < pieces; ++i)
      self.device->offer(node_name{"D"}, {lane_of(round), i, block_of(i),
                                          {order[i] * piece_bytes, piece_bytes, 0, 1}});
  }
}

pid_t start_source(path_kind path, int& connection) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
    std::_Exit(1);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], child_connection);
    close_range(child_connection + 1, ~0U, 0);
    execl("/proc/self/exe", "handoff_bench", "source", to_string(path), nullptr);
    std::_Exit(127);
  }
  close(ends[1]);
  connection = ends[0];
  return pid;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One thread's memcpy of the same blocks between two private arenas, bytes per second.
double memcpy_rate(arena& from, arena& to) {
  const auto in = shuffled(1);
  const auto out = shuffled(2);
  const double start = seconds();
  for (std::uint32_t i = 0; i < pieces; ++i)
    std::memcpy(to.base() + out[i] * piece_bytes, from.base() + in[i] * piece_bytes, piece_bytes);
  return pieces * piece_bytes / (seconds() - start);
}

double handoff_rate(bench_node& here, int connection, std::uint64_t round) {
  const auto order = shuffled(2);
  lane_grant grant;
  grant.lane = lane_of(round);
  grant.source = source_life;
  for (std::uint32_t i = 0; i < pieces; ++i)
    grant.pieces.push_back({block_of(i), {order[i] * piece_bytes, piece_bytes, 0, 1}});
  here.device->admit(std::move(grant));
  if (!here.seen.wait_admitted(round))
    return 0;
  const double start = seconds();
  transfer_all(connection, &round, sizeof round, true);
  if (!here.seen.wait_landed(round * pieces))
    return 0;
  const double rate = pieces * piece_bytes / (seconds() - start);
  here.device->send_receipt(lane_of(round), node_name{"P"});
  return rate;
}

void measure(path_kind path, int rounds) {
  int connection = -1;
  const pid_t child = start_source(path, connection);
  {
    bench_node here(path, destination_life);
    arena from = std::move(arena::create_private(pieces * piece_bytes).value());
    std::memset(from.base(), 2, from.bytes());
    auto theirs = swap_descriptors(connection, here.device->descriptor());
    here.device->connect(node_name{"P"}, source_life, std::move(theirs));
    here.seen.wait_connected();
    std::vector<double> copies;
    std::vector<double> handoffs;
    std::vector<double> ratios;
    for (int round = 1; round <= rounds; ++round) {
      copies.push_back(memcpy_rate(from, here.memory));
      handoffs.push_back(handoff_rate(here, connection, static_cast<std::uint64_t>(round)));
      ratios.push_back(handoffs.back() / copies.back());
    }
    std::printf("{\"path\": \"%s\", \"pieces\": %u, \"piece_bytes\": %llu, \"rounds\": %d, "
                "\"memcpy_gb_per_s\": %.2f, \"handoff_gb_per_s\": %.2f, \"ratio_median\": %.2f, "
                "\"ratio_min\": %.2f, \"ratio_max\": %.2f}\n",
                here.seen.path().c_str(), pieces, static_cast<unsigned long long>(piece_bytes),
                rounds, median(copies) / 1e9, median(handoffs) / 1e9, median(ratios),
                *std::min_element(ratios.begin(), ratios.end()),
                *std::max_element(ratios.begin(), ratios.end()));
    std::fflush(stdout);
  }
  close(connection);
  waitpid(child, nullptr, 0);
}

} // namespace

int main(int argc, char** argv) {
  if (check_ucx_environment()) {
    if (std::getenv("BATON_STARTED_AGAIN") != nullptr)
      return 1;
    setenv("BATON_STARTED_AGAIN", "1", 1);
    for (const std::string& line : ucx_environment()) {
      const auto equals = line.find('=');
      setenv(line.substr(0, equals).c_str(), line.c_str() + equals + 1, 1);
    }
    execv("/proc/self/exe", argv);
    return 1;
  }
  if (argc == 3 && std::strcmp(argv[1], "source") == 0)
    return run_source(std::strcmp(argv[2], "pull") == 0 ? path_kind::pull
                                                        : path_kind::shared_arena);
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  measure(path_kind::pull, rounds);
  measure(path_kind::shared_arena, rounds);
  return 0;
}
