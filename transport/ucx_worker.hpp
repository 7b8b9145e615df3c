// Owns one UCX context and one worker, and the one place where its thread sleeps: the worker's
// event fd and our own eventfd in one epoll set.
#pragma once

#include "protocol/outcome.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <ucp/api/ucp.h>
#include <vector>

namespace baton::transport {

class ucx_worker {
public:
  /// Errors: internal, naming the call and UCX's status.
  static protocol::outcome<std::unique_ptr<ucx_worker>> create();
  ~ucx_worker();
  ucx_worker(const ucx_worker&) = delete;
  ucx_worker& operator=(const ucx_worker&) = delete;

  ucp_worker_h handle() const { return worker_; }
  std::vector<std::byte> address() const { return address_; }

  /// Blocks until the worker has an event, wake() was called, or the time has passed.
  void sleep(int timeout_ms);
  /// Blocks until wake() was called or the time has passed. The worker is not armed meanwhile, so
  /// that peers save the signal too.
  void nap(std::chrono::microseconds time);
  /// From any thread. Costs a system call only while the worker sleeps.
  void wake();

private:
  ucx_worker() = default;
  protocol::failure start();
  protocol::failure watch();
  void forget_wake(bool written);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::vector<std::byte> address_;
  int epoll_fd_ = -1;
  int wake_fd_ = -1;
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> woken_{false};
};

} // namespace baton::transport
