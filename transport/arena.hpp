// A node's KV memory. Pages come on first touch, so a large arena costs nothing until it is used.
//
//   private:  [ KV blocks ............ ]                 anonymous, this process only
//   shared:   [ KV blocks ............ ][ seal page ]    a memfd that peers on this host map; the
//                                                        seal page holds a nonce
//   window:   [ nothing, then a peer's shared arena ]    one address for this process's whole life
//
// Peers map a shared arena read-only to copy from it, or through a window to write into it.
#pragma once

#include "protocol/outcome.hpp"
#include "transport/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace baton::transport {

/// Owns one mapping; both kinds ask for transparent huge pages (+10 % copy rate, and the only way
/// to reach memcpy's rate over process_vm_readv). Private ones get them by default; shared ones
/// only where /sys/kernel/mm/transparent_hugepage/shmem_enabled is advise or always.
class arena {
public:
  /// Anonymous memory. `bytes` > 0. Errors: bad_input (zero), no_capacity (mmap refused).
  static protocol::outcome<arena> create_private(std::uint64_t bytes);
  /// A memfd that cannot shrink or grow any more, so that no reader can be made to fault.
  /// Errors: bad_input, no_capacity.
  static protocol::outcome<arena> create_shared(std::uint64_t bytes);
  /// Addresses for a peer's shared arena of so many bytes. Touching them before map_peer has
  /// succeeded ends the process. Errors as create_private.
  static protocol::outcome<arena> reserve_window(std::uint64_t bytes);

  arena(arena&& other) noexcept;
  arena& operator=(arena&& other) noexcept;
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena();

  std::byte* base() const { return base_; }
  /// Usable bytes, without the seal page.
  std::uint64_t bytes() const { return bytes_; }
  /// Window: maps the peer's arena here, to be read and written. It stays for this process's life,
  /// also after the peer's death; the same arena again changes nothing. Errors: bad_input (not a
  /// window), no_capacity (another size), peer_lost (cannot be opened), stale_incarnation (not the
  /// arena described, or another one is mapped already).
  protocol::failure map_peer(const wire::shared_region& region);

  /// Shared: puts fresh memory in the place of [offset, offset + bytes), for this process alone.
  /// Whoever has the arena mapped keeps the old pages, and what it writes there nobody here reads.
  /// The bytes are undefined afterwards; nothing of this process may be at them meanwhile. Errors:
  /// bad_input (not shared, not whole pages), out_of_range, internal (nothing was replaced).
  protocol::failure replace_pages(std::uint64_t offset, std::uint64_t bytes);

  /// What a peer needs to map this memory; none for a private arena or a window.
  std::optional<wire::shared_region> region() const {
    return is_window_ ? std::nullopt : region_;
  }

private:
  arena() = default;
  void release();

  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t mapped_bytes_ = 0;
  int fd_ = -1;
  bool is_window_ = false;
  std::optional<wire::shared_region> region_; ///< own, or of the peer that is mapped
};

/// Another process's shared arena, mapped read-only.
class mapped_region {
public:
  /// Opens /proc/<pid>/fd/<fd> and verifies size, seals and nonce before any byte is used.
  /// Errors: peer_lost (cannot be opened), stale_incarnation (not the arena described).
  static protocol::outcome<mapped_region> open(const wire::shared_region& region);

  mapped_region(mapped_region&& other) noexcept;
  mapped_region& operator=(mapped_region&&) = delete;
  ~mapped_region();

  const std::byte* base() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }

private:
  mapped_region() = default;

  const std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t mapped_bytes_ = 0;
};

} // namespace baton::transport
