// Where a device's own thread meets the mailbox of the actor that owns it: events become messages.
// The device may outlive the actor for a moment; a detached port drops what comes late.
#pragma once

#include "actors/node_context.hpp"
#include "gpu/device.hpp"
#include "transport/endpoint.hpp"

#include <memory>
#include <mutex>

namespace baton::actors {

class device_port {
public:
  device_port(node_context& node, std::string label) : node_(node), label_(std::move(label)) {}

  void attach(handle owner);
  void detach();

  /// Both run on the device's thread and never block.
  void deliver(transport::transfer_event event);
  void deliver(gpu::device_event event);

private:
  handle owner() const;

  node_context& node_;
  std::string label_; ///< the device as a sender in traces
  mutable std::mutex mutex_;
  handle owner_;
};

/// Digest of resume bytes, never 0: lanes of one hand-off must agree on it.
std::uint64_t resume_digest(const float* values, std::size_t count);

} // namespace baton::actors
