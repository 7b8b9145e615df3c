#include "transport/ucx_worker.hpp"

#include "transport/signals_blocked.hpp"

#include <cstring>
#include <ctime>
#include <poll.h>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace baton::transport {

using protocol::failure;
using protocol::outcome;
using protocol::reason;

namespace {

failure ucx_failure(const char* call, ucs_status_t status) {
  return {reason::internal, std::string("ucx: ") + call + ": " + ucs_status_string(status)};
}

} // namespace

outcome<std::unique_ptr<ucx_worker>> ucx_worker::create() {
  std::unique_ptr<ucx_worker> made(new ucx_worker);
  if (failure f = made->start())
    return f;
  if (failure f = made->watch())
    return f;
  return made;
}

failure ucx_worker::start() {
  const signals_blocked block; // UCX starts a thread of its own
  ucp_config_t* config = nullptr;
  if (const auto s = ucp_config_read(nullptr, nullptr, &config); s != UCS_OK)
    return ucx_failure("ucp_config_read", s);
  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_RMA | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  const auto initialised = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  if (initialised != UCS_OK)
    return ucx_failure("ucp_init", initialised);
  ucp_worker_params_t worker_params = {};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_params.thread_mode = UCS_THREAD_MODE_SINGLE;
  if (const auto s = ucp_worker_create(context_, &worker_params, &worker_); s != UCS_OK)
    return ucx_failure("ucp_worker_create", s);
  ucp_address_t* address = nullptr;
  std::size_t size = 0;
  if (const auto s = ucp_worker_get_address(worker_, &address, &size); s != UCS_OK)
    return ucx_failure("ucp_worker_get_address", s);
  const auto* bytes = reinterpret_cast<const std::byte*>(address);
  address_.assign(bytes, bytes + size);
  ucp_worker_release_address(worker_, address);
  return {};
}

failure ucx_worker::watch() {
  int worker_fd = -1;
  if (const auto s = ucp_worker_get_efd(worker_, &worker_fd); s != UCS_OK)
    return ucx_failure("ucp_worker_get_efd", s);
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  wake_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  for (const int fd : {worker_fd, wake_fd_}) {
    epoll_event interest = {};
    interest.events = EPOLLIN;
    interest.data.fd = fd;
    if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &interest) != 0)
      return {reason::internal, std::string("ucx: epoll_ctl: ") + std::strerror(errno)};
  }
  return {};
}

ucx_worker::~ucx_worker() {
  if (worker_ != nullptr)
    ucp_worker_destroy(worker_);
  if (context_ != nullptr)
    ucp_cleanup(context_);
  if (epoll_fd_ >= 0)
    close(epoll_fd_);
  if (wake_fd_ >= 0)
    close(wake_fd_);
}

void ucx_worker::sleep(int timeout_ms) {
  if (ucp_worker_arm(worker_) != UCS_OK)
    return; // something came in since the last progress
  sleeping_ = true;
  bool written = false;
  if (!woken_) {
    epoll_event events[2];
    const int count = epoll_wait(epoll_fd_, events, 2, timeout_ms);
    for (int i = 0; i < count; ++i)
      written |= events[i].data.fd == wake_fd_;
  }
  forget_wake(written);
}

void ucx_worker::nap(std::chrono::microseconds time) {
  sleeping_ = true;
  bool written = false;
  if (!woken_) {
    pollfd woken{wake_fd_, POLLIN, 0};
    const timespec limit{0, std::chrono::nanoseconds(time).count()};
    written = ppoll(&woken, 1, &limit, nullptr) > 0;
  }
  forget_wake(written);
}

void ucx_worker::forget_wake(bool written) {
  sleeping_ = false;
  written |= woken_.exchange(false); // before the caller looks at its queue: no wake() is lost
  std::uint64_t count = 0;
  if (written && read(wake_fd_, &count, sizeof count) < 0) {
    // wake() came before the sleep and wrote nothing, or writes only now: that ends the next sleep
  }
}

void ucx_worker::wake() {
  woken_ = true;
  if (sleeping_.exchange(false)) {
    const std::uint64_t one = 1;
    if (write(wake_fd_, &one, sizeof one) < 0) {
      // the counter is full: the sleeper has been woken many times over
    }
  }
}

} // namespace baton::transport
