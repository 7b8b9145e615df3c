// Threads that split one loop at a time. Workers poll briefly for the next loop and then sleep: a
// spinning barrier costs a busy machine far more than a wake-up.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace baton::gpu {

/// run() is called by one thread at a time, which works along.
class thread_pool {
public:
  /// `threads` includes the caller's own; at least 1.
  explicit thread_pool(std::size_t threads);
  ~thread_pool();
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  std::size_t threads() const { return workers_.size() + 1; }

  /// Calls f(begin, end, thread) for ranges of at most `grain` items that cover [0, items), each
  /// once, on any thread; returns when all have returned. `thread` is below threads().
  template <class F>
  void run(std::size_t items, std::size_t grain, F&& f) {
    if (workers_.empty() || items <= grain) {
      if (items > 0)
        f(std::size_t{0}, items, std::size_t{0});
      return;
    }
    using body = std::remove_reference_t<F>;
    run_loop({items, grain, &f, [](const void* self, std::size_t b, std::size_t e, std::size_t t) {
                (*static_cast<const body*>(self))(b, e, t);
              }});
  }

private:
  struct loop {
    std::size_t items = 0;
    std::size_t grain = 1;
    const void* body = nullptr;
    void (*call)(const void*, std::size_t, std::size_t, std::size_t) = nullptr;
  };

  void run_loop(const loop& work);
  void take_ranges(std::size_t thread);
  void worker(std::size_t thread);

  loop loop_;
  std::atomic<std::size_t> next_{0};      ///< first item that nobody has taken
  std::atomic<std::uint64_t> number_{0};  ///< of the current loop
  std::atomic<std::size_t> unfinished_{0}; ///< workers still in the current loop
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable started_;
  std::condition_variable finished_;
  std::vector<std::thread> workers_;
};

} // namespace baton::gpu
