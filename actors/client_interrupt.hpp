// SIGINT while a script runs: the first asks for an orderly end, the second leaves at once.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace baton::actors {

/// Make it before any other thread starts: it blocks SIGINT in this thread and those made after.
class interrupt_watch {
public:
  interrupt_watch();
  ~interrupt_watch() { stop(); }
  interrupt_watch(const interrupt_watch&) = delete;
  interrupt_watch& operator=(const interrupt_watch&) = delete;

  /// Calls `on_first` on a thread of its own at the first SIGINT, also one that came before. The
  /// second ends the process with exit code 130. Call once.
  void start(std::function<void()> on_first);

  /// Ends the watch and lets SIGINT through again; nothing is called after it.
  void stop();

private:
  enum class watch_state : int { watching, closing };
  std::atomic<watch_state> state_{watch_state::watching};
  std::thread thread_;
};

} // namespace baton::actors
