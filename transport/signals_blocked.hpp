// Signals belong to the process's main thread, never to a device thread.
#pragma once

#include <csignal>

namespace baton::transport {

/// Threads started while this lives have every signal blocked.
class signals_blocked {
public:
  signals_blocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

private:
  sigset_t before_;
};

} // namespace baton::transport
