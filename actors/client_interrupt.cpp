#include "actors/client_interrupt.hpp"

#include <csignal>
#include <pthread.h>
#include <unistd.h>

namespace baton::actors {

namespace {

constexpr int exit_interrupted = 130;

sigset_t interrupt_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

} // namespace

interrupt_watch::interrupt_watch() {
  const sigset_t set = interrupt_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void interrupt_watch::stop() {
  if (thread_.joinable()) {
    state_ = watch_state::closing;
    pthread_kill(thread_.native_handle(), SIGINT);
    thread_.join();
  }
  const sigset_t set = interrupt_set();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void interrupt_watch::start(std::function<void()> on_first) {
  thread_ = std::thread([this, on_first = std::move(on_first)] {
    const sigset_t set = interrupt_set();
    int signal = 0;
    sigwait(&set, &signal);
    if (state_ == watch_state::closing)
      return;
    on_first();
    sigwait(&set, &signal);
    if (state_ != watch_state::closing)
      _exit(exit_interrupted);
  });
}

} // namespace baton::actors
