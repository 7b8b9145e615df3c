// Meeting in named memory: rank 0 creates it, the others open it, and the name is gone as soon as
// all are in (or one has given up), so that nothing outlives the group.
#include "gpu/cpu/group_layout.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace baton::gpu {

using protocol::failure;
using protocol::outcome;
using protocol::reason;

namespace {

constexpr std::chrono::milliseconds open_interval{1}; // between looks for a name not there yet

std::string errno_text() { return std::strerror(errno); }

/// A descriptor that closes itself.
class descriptor {
public:
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  int get() const { return fd_; }

private:
  int fd_;
};

void* map_shared(const descriptor& fd, std::size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
}

} // namespace

outcome<std::shared_ptr<group_segment>>
group_segment::create(const std::string& name, std::uint32_t ranks,
                      const collective_limits& limits) {
  const descriptor fd(::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  if (fd.get() < 0)
    return failure{errno == EEXIST ? reason::duplicate : reason::internal,
                   "group memory: cannot be created: " + errno_text()};
  const std::size_t bytes = bytes_needed(ranks, limits);
  // Allocated now: a full tmpfs would otherwise kill the process at its first write.
  const int error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  void* base = error == 0 ? map_shared(fd, bytes) : MAP_FAILED;
  if (base == MAP_FAILED) {
    ::shm_unlink(name.c_str());
    return failure{reason::no_capacity,
                   "group memory: " + std::to_string(bytes) + " bytes of shared memory: "
                     + std::strerror(error == 0 ? errno : error)};
  }
  auto* fresh = new (base) header;
  fresh->ranks = ranks;
  fresh->slot_bytes = limits.slot_bytes;
  fresh->ready.store(1);
  return std::shared_ptr<group_segment>(new group_segment(base, bytes, ranks, limits));
}

outcome<std::shared_ptr<group_segment>>
group_segment::open(const std::string& name, std::uint32_t ranks, const collective_limits& limits,
                    clock::time_point deadline) {
  const std::size_t bytes = bytes_needed(ranks, limits);
  while (clock::now() < deadline) {
    const descriptor fd(::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0));
    struct stat info {};
    if (fd.get() < 0 && errno != ENOENT)
      return failure{reason::internal, "group memory: cannot be opened: " + errno_text()};
    if (fd.get() >= 0 && ::fstat(fd.get(), &info) == 0
        && static_cast<std::size_t>(info.st_size) >= sizeof(header)) {
      if (static_cast<std::size_t>(info.st_size) < bytes)
        return failure{reason::manifest_mismatch,
                       "group memory: has " + std::to_string(info.st_size) + " bytes, "
                         + std::to_string(ranks) + " ranks and slot_bytes "
                         + std::to_string(limits.slot_bytes) + " call for "
                         + std::to_string(bytes)};
      void* base = map_shared(fd, bytes);
      if (base == MAP_FAILED)
        return failure{reason::no_capacity, "group memory: cannot be mapped: " + errno_text()};
      return std::shared_ptr<group_segment>(new group_segment(base, bytes, ranks, limits));
    }
    std::this_thread::sleep_for(open_interval);
  }
  return failure{reason::peer_lost, "group memory: rank 0 has not created it within "
                                      + std::to_string(limits.wait_ms) + " ms"};
}

failure group_segment::enter(const std::string& name, std::uint32_t rank,
                             clock::time_point deadline) {
  const std::uint64_t everyone = ~std::uint64_t{0} >> (group_ranks_max - ranks_);
  const std::uint64_t mine = std::uint64_t{1} << rank;
  while (head().ready.load() == 0 && clock::now() < deadline)
    std::this_thread::sleep_for(open_interval);
  if (head().ready.load() == 0)
    return {reason::peer_lost, "group memory: rank 0 stopped while creating it"};
  if (head().ranks != ranks_ || head().slot_bytes != limits_.slot_bytes)
    return {reason::manifest_mismatch,
            "group memory: made for " + std::to_string(head().ranks) + " ranks and slot_bytes "
              + std::to_string(head().slot_bytes) + ", this rank expects "
              + std::to_string(ranks_) + " and " + std::to_string(limits_.slot_bytes)};
  const std::uint64_t before = head().joined.fetch_or(mine);
  if ((before & mine) != 0)
    return {reason::duplicate, "group memory: rank " + std::to_string(rank) + " is in already"};
  if ((before | mine) == everyone)
    ::shm_unlink(name.c_str());
  ring();
  if (wait(deadline, [&] { return head().joined.load() == everyone; }))
    return {};
  ::shm_unlink(name.c_str());
  poison("rank " + std::to_string(rank) + " gave up waiting for all ranks to join");
  return {reason::peer_lost, "group memory: not all of " + std::to_string(ranks_)
                               + " ranks joined within " + std::to_string(limits_.wait_ms)
                               + " ms"};
}

outcome<std::shared_ptr<group_segment>>
group_segment::join(const std::string& name, std::uint32_t rank, std::uint32_t ranks,
                    const collective_limits& limits) {
  const auto deadline = clock::now() + std::chrono::milliseconds(limits.wait_ms);
  auto segment = rank == 0 ? create(name, ranks, limits) : open(name, ranks, limits, deadline);
  if (!segment)
    return segment.error();
  if (auto f = segment.value()->enter(name, rank, deadline))
    return f;
  return segment;
}

} // namespace baton::gpu
