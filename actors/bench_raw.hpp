// What the link itself gives: the same blocks by UCX's active-message rendezvous, without lanes,
// grants, digests or notices. The baseline of every hand-off.
#pragma once

#include "transport/ucx_worker.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace baton::actors::bench {

/// Blocks of equal size in the order in which they go: block i lies at base + order[i] * bytes.
struct block_list {
  std::byte* base = nullptr;
  std::uint64_t block_bytes = 0;
  std::vector<std::uint32_t> order;
};

class raw_link {
public:
  /// Messages under way at once; more gain nothing on CMA and lose on TCP.
  static constexpr std::uint32_t window = 4;

  /// Ends the process with the reason when UCX cannot start.
  raw_link();
  ~raw_link();
  raw_link(const raw_link&) = delete;

  std::vector<std::byte> address() const { return worker_->address(); }
  void connect(const std::vector<std::byte>& peer);

  /// Sends every block; returns when the peer has them.
  void send(const block_list& blocks);
  /// Receives every block that the peer sends, each into its place here.
  void receive(const block_list& blocks);

private:
  static ucs_status_t arrived(void* self, const void* header, std::size_t header_size, void* data,
                              std::size_t size, const ucp_am_recv_param_t* param);
  static void sent(void* request, ucs_status_t status, void* self);
  static void received(void* request, ucs_status_t status, std::size_t size, void* self);
  void post_receive(std::uint32_t index, void* data, std::size_t size);
  void wait();

  std::unique_ptr<transport::ucx_worker> worker_;
  ucp_ep_h peer_ = nullptr;
  const block_list* into_ = nullptr;
  struct early {
    std::uint32_t index = 0;
    void* data = nullptr;
    std::size_t size = 0;
  };
  std::vector<early> early_; ///< came before receive() was called
  std::uint32_t under_way_ = 0;
  std::uint32_t landed_ = 0;
};

} // namespace baton::actors::bench
