// The UCX carrier: frames are eager active messages, parts are active messages whose bytes wait at
// the source (rendezvous) until the destination receives or drops them.
#pragma once

#include "transport/carrier.hpp"
#include "transport/ucx_worker.hpp"

#include <map>
#include <memory>
#include <vector>

namespace baton::transport {

class ucx_carrier final : public carrier {
public:
  ucx_carrier(path_kind path, std::unique_ptr<ucx_worker> worker);
  ~ucx_carrier() override;

  void attach(carrier_listener& listener) override;
  std::vector<std::byte> address() const override { return worker_->address(); }
  protocol::outcome<channel_id> open(const wire::descriptor& peer) override;
  void close(channel_id channel) override;
  protocol::outcome<std::unique_ptr<source_view>> view(const wire::descriptor& peer) override;
  std::string path(channel_id channel) override;
  bool is_read_remotely(channel_id channel) override;
  void send(channel_id channel, std::vector<std::byte> frame) override;
  posting send_part(channel_id channel, std::vector<std::byte> frame, const std::byte* bytes,
                    std::uint64_t count, bool wait_for_reader, std::uint64_t token) override;
  posting receive(void* handle, std::byte* to, std::uint64_t count, std::uint64_t token) override;
  void drop(void* handle) override;
  bool progress() override;
  void sleep(int timeout_ms) override { worker_->sleep(timeout_ms); }
  void nap(std::chrono::microseconds time) override { worker_->nap(time); }
  void wake() override { worker_->wake(); }

private:
  enum class channel_phase : std::uint8_t { open, failed };
  /// UCX keeps a pointer to this until the close of its endpoint has completed.
  struct channel_record {
    ucx_carrier* owner = nullptr;
    channel_id id = 0;
    ucp_ep_h ep = nullptr;
    channel_phase phase = channel_phase::open;
  };
  struct closing_channel {
    std::unique_ptr<channel_record> record;
    void* request = nullptr;
  };
  /// An active message on its way; UCX reads the frame until the callback. Token 0: a frame.
  struct sending {
    ucx_carrier* owner = nullptr;
    std::uint64_t token = 0;
    std::vector<std::byte> frame;
  };
  struct receiving {
    ucx_carrier* owner = nullptr;
    std::uint64_t token = 0;
    std::uint64_t bytes = 0;
  };

  static ucs_status_t on_frame(void* self, const void* header, std::size_t header_size,
                               void* data, std::size_t size, const ucp_am_recv_param_t* param);
  static ucs_status_t on_part(void* self, const void* header, std::size_t header_size, void* data,
                              std::size_t size, const ucp_am_recv_param_t* param);
  static void on_sent(void* request, ucs_status_t status, void* context);
  static void on_received(void* request, ucs_status_t status, std::size_t size, void* context);
  static void on_error(void* record, ucp_ep_h ep, ucs_status_t status);

  posting post(channel_id channel, unsigned message, std::vector<std::byte> frame,
               const std::byte* bytes, std::uint64_t count, std::uint32_t flags,
               std::uint64_t token);
  void mark_failed(channel_record& channel, ucs_status_t status);
  bool finish_closings();

  path_kind path_;
  std::unique_ptr<ucx_worker> worker_;
  carrier_listener* listener_ = nullptr;
  channel_id next_channel_ = 1;
  std::map<channel_id, std::unique_ptr<channel_record>> channels_;
  std::vector<closing_channel> closings_;
  std::map<sending*, std::unique_ptr<sending>> sendings_;
  std::map<receiving*, std::unique_ptr<receiving>> receivings_;
  void* handled_ = nullptr;        ///< the descriptor whose handler is running
  bool handled_dropped_ = false;   ///< drop(handled_) was called: say so by the return value
};

} // namespace baton::transport
