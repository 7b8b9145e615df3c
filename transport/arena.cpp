#include "transport/arena.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace baton::transport {

using protocol::failure;
using protocol::outcome;
using protocol::reason;

namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t huge_page_bytes = 2ULL << 20;
constexpr std::uint64_t seal_magic = 0x616e6572616e7462ULL;
constexpr int required_seals = F_SEAL_SHRINK | F_SEAL_GROW;

/// First bytes of the page behind the blocks.
struct seal_page {
  std::uint64_t magic;
  std::uint64_t bytes;
  std::uint64_t nonce_high;
  std::uint64_t nonce_low;
};

std::uint64_t rounded_to_pages(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

failure system_failure(reason why, const std::string& what) {
  return {why, "arena: " + what + ": " + std::strerror(errno)};
}

/// Maps at a huge page's boundary, without which the kernel cannot use any for a file, and asks for
/// them: advice only, everything works without. MAP_FAILED as from mmap.
void* map_aligned(std::uint64_t bytes, int protection, int flags, int fd) {
  void* room = mmap(nullptr, bytes + huge_page_bytes, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    return room;
  auto* begin = static_cast<std::byte*>(room);
  const std::uint64_t past = reinterpret_cast<std::uintptr_t>(room) % huge_page_bytes;
  const std::uint64_t head = past == 0 ? 0 : huge_page_bytes - past;
  void* base = mmap(begin + head, bytes, protection, flags | MAP_FIXED, fd, 0);
  if (base == MAP_FAILED) {
    munmap(room, bytes + huge_page_bytes);
    return base;
  }
  if (head > 0)
    munmap(begin, head);
  munmap(begin + head + bytes, huge_page_bytes - head);
  madvise(base, bytes, MADV_HUGEPAGE);
  return base;
}

failure check_size(std::uint64_t bytes) {
  if (bytes == 0 || bytes > (1ULL << 46))
    return {reason::bad_input, "arena: bytes: " + std::to_string(bytes) + " is not in 1..2^46"};
  return {};
}

/// The file behind a peer's arena, with its size, seals and nonce verified; to be closed.
outcome<int> open_shared(const wire::shared_region& region, int how) {
  const std::string path
    = "/proc/" + std::to_string(region.pid) + "/fd/" + std::to_string(region.fd);
  const int fd = ::open(path.c_str(), how | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return system_failure(reason::peer_lost, "opening the peer's shared arena");
  const std::uint64_t mapped = rounded_to_pages(region.bytes) + page_bytes;
  struct stat facts = {};
  const int seals = fcntl(fd, F_GET_SEALS);
  const bool fits = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)
                    && static_cast<std::uint64_t>(facts.st_size) == mapped && seals >= 0
                    && (seals & required_seals) == required_seals;
  if (!fits) {
    close(fd);
    return failure{reason::stale_incarnation,
                   "arena: the peer's shared arena has another size or is not sealed"};
  }
  seal_page seal = {};
  const auto at = static_cast<off_t>(mapped - page_bytes);
  const bool same = pread(fd, &seal, sizeof seal, at) == sizeof seal && seal.magic == seal_magic
                    && seal.bytes == region.bytes && seal.nonce_high == region.nonce_high
                    && seal.nonce_low == region.nonce_low;
  if (!same) {
    close(fd);
    return failure{reason::stale_incarnation, "arena: the peer's shared arena has another nonce"};
  }
  return fd;
}

} // namespace

outcome<arena> arena::create_private(std::uint64_t bytes) {
  if (failure f = check_size(bytes))
    return f;
  const std::uint64_t mapped = rounded_to_pages(bytes);
  void* base = map_aligned(mapped, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (base == MAP_FAILED)
    return system_failure(reason::no_capacity, "mmap of " + std::to_string(bytes) + " bytes");
  arena made;
  made.base_ = static_cast<std::byte*>(base);
  made.bytes_ = bytes;
  made.mapped_bytes_ = mapped;
  return made;
}

outcome<arena> arena::create_shared(std::uint64_t bytes) {
  if (failure f = check_size(bytes))
    return f;
  arena made;
  made.bytes_ = bytes;
  made.mapped_bytes_ = rounded_to_pages(bytes) + page_bytes;
  made.fd_ = memfd_create("baton-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (made.fd_ < 0)
    return system_failure(reason::no_capacity, "memfd_create");
  if (ftruncate(made.fd_, static_cast<off_t>(made.mapped_bytes_)) != 0)
    return system_failure(reason::no_capacity, "ftruncate to " + std::to_string(bytes) + " bytes");
  if (fcntl(made.fd_, F_ADD_SEALS, required_seals | F_SEAL_SEAL) != 0)
    return system_failure(reason::internal, "sealing");
  void* base = map_aligned(made.mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd_);
  if (base == MAP_FAILED)
    return system_failure(reason::no_capacity, "mmap of " + std::to_string(bytes) + " bytes");
  made.base_ = static_cast<std::byte*>(base);
  std::uint64_t nonce[2] = {0, 0};
  if (getrandom(nonce, sizeof nonce, 0) != sizeof nonce)
    return system_failure(reason::internal, "getrandom");
  const seal_page seal{seal_magic, bytes, nonce[0], nonce[1]};
  std::memcpy(made.base_ + made.mapped_bytes_ - page_bytes, &seal, sizeof seal);
  made.region_ = wire::shared_region{static_cast<std::uint32_t>(getpid()),
                                     static_cast<std::uint32_t>(made.fd_), bytes, seal.nonce_high,
                                     seal.nonce_low};
  return made;
}

outcome<arena> arena::reserve_window(std::uint64_t bytes) {
  if (failure f = check_size(bytes))
    return f;
  arena made;
  made.bytes_ = bytes;
  made.mapped_bytes_ = rounded_to_pages(bytes) + page_bytes;
  made.is_window_ = true;
  void* base = mmap(nullptr, made.mapped_bytes_, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return system_failure(reason::no_capacity, "mmap of " + std::to_string(bytes) + " bytes");
  made.base_ = static_cast<std::byte*>(base);
  return made;
}

failure arena::map_peer(const wire::shared_region& region) {
  if (!is_window_)
    return {reason::bad_input, "arena: is no window"};
  if (region.bytes != bytes_)
    return {reason::no_capacity, "arena: the peer's has " + std::to_string(region.bytes)
                                   + " bytes, expected " + std::to_string(bytes_)};
  if (region_ && region_->nonce_high == region.nonce_high && region_->nonce_low == region.nonce_low)
    return {};
  if (region_)
    return {reason::stale_incarnation,
            "arena: the memory of an earlier life of the peer is mapped, and may be in use"};
  auto opened = open_shared(region, O_RDWR);
  if (!opened)
    return opened.error();
  void* base = mmap(base_, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                    opened.value(), 0);
  const failure refused = system_failure(reason::internal, "mapping the peer's shared arena");
  close(opened.value());
  if (base == MAP_FAILED)
    return refused; // what was mapped before may be gone: nobody writes before this has succeeded
  region_ = region;
  return {};
}

failure arena::replace_pages(std::uint64_t offset, std::uint64_t bytes) {
  if (is_window_ || !region_)
    return {reason::bad_input, "arena: is not shared"};
  if (bytes == 0 || bytes > bytes_ || offset > bytes_ - bytes)
    return {reason::out_of_range, "arena: no such bytes"};
  if (offset % page_bytes != 0 || bytes % page_bytes != 0)
    return {reason::bad_input, "arena: a block shares a page of " + std::to_string(page_bytes)
                                 + " bytes with its neighbour"};
  void* at = mmap(base_ + offset, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? system_failure(reason::internal, "replacing pages") : failure{};
}

arena::arena(arena&& other) noexcept
  : base_(std::exchange(other.base_, nullptr)),
    bytes_(std::exchange(other.bytes_, 0)),
    mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
    fd_(std::exchange(other.fd_, -1)),
    is_window_(other.is_window_),
    region_(std::exchange(other.region_, std::nullopt)) {}

arena& arena::operator=(arena&& other) noexcept {
  if (this != &other) {
    release();
    base_ = std::exchange(other.base_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    mapped_bytes_ = std::exchange(other.mapped_bytes_, 0);
    fd_ = std::exchange(other.fd_, -1);
    is_window_ = other.is_window_;
    region_ = std::exchange(other.region_, std::nullopt);
  }
  return *this;
}

arena::~arena() {
  release();
}

void arena::release() {
  if (base_ != nullptr)
    munmap(base_, mapped_bytes_);
  if (fd_ >= 0)
    close(fd_);
}

outcome<mapped_region> mapped_region::open(const wire::shared_region& region) {
  if (failure f = check_size(region.bytes))
    return f;
  auto opened = open_shared(region, O_RDONLY);
  if (!opened)
    return opened.error();
  const std::uint64_t mapped = rounded_to_pages(region.bytes) + page_bytes;
  void* base = map_aligned(mapped, PROT_READ, MAP_SHARED, opened.value());
  const failure refused = system_failure(reason::internal, "mapping the peer's shared arena");
  close(opened.value());
  if (base == MAP_FAILED)
    return refused;
  mapped_region made;
  made.base_ = static_cast<const std::byte*>(base);
  made.bytes_ = region.bytes;
  made.mapped_bytes_ = mapped;
  return made;
}

mapped_region::mapped_region(mapped_region&& other) noexcept
  : base_(std::exchange(other.base_, nullptr)),
    bytes_(other.bytes_),
    mapped_bytes_(other.mapped_bytes_) {}

mapped_region::~mapped_region() {
  if (base_ != nullptr)
    munmap(const_cast<std::byte*>(base_), mapped_bytes_);
}

} // namespace baton::transport
