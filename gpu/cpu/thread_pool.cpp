#include "gpu/cpu/thread_pool.hpp"

#include "gpu/cpu/spin.hpp"

#include <algorithm>

namespace baton::gpu {

namespace {
constexpr int spins_before_sleep = 2000; // tens of microseconds: the gap between two loops
} // namespace

thread_pool::thread_pool(std::size_t threads) {
  for (std::size_t t = 1; t < threads; ++t)
    workers_.emplace_back([this, t] { worker(t); });
}

thread_pool::~thread_pool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    ++number_;
  }
  started_.notify_all();
  for (auto& thread : workers_)
    thread.join();
}

void thread_pool::run_loop(const loop& work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    loop_ = work;
    next_.store(0, std::memory_order_relaxed);
    unfinished_.store(workers_.size(), std::memory_order_relaxed);
    number_.fetch_add(1, std::memory_order_release);
  }
  started_.notify_all();
  take_ranges(0);
  if (spin_until(spins_before_sleep, [this] { return unfinished_.load() == 0; }))
    return;
  std::unique_lock<std::mutex> lock(mutex_);
  finished_.wait(lock, [this] { return unfinished_.load() == 0; });
}

void thread_pool::take_ranges(std::size_t thread) {
  while (true) {
    const std::size_t begin = next_.fetch_add(loop_.grain, std::memory_order_relaxed);
    if (begin >= loop_.items)
      return;
    loop_.call(loop_.body, begin, std::min(loop_.items, begin + loop_.grain), thread);
  }
}

void thread_pool::worker(std::size_t thread) {
  std::uint64_t seen = 0;
  while (true) {
    const auto moved = [&] { return number_.load(std::memory_order_acquire) != seen; };
    if (!spin_until(spins_before_sleep, moved)) {
      std::unique_lock<std::mutex> lock(mutex_);
      started_.wait(lock, moved);
    }
    seen = number_.load(std::memory_order_acquire);
    if (stopping_)
      return;
    take_ranges(thread);
    if (unfinished_.fetch_sub(1) == 1) {
      // The lock orders this with the caller's check before it sleeps.
      const std::lock_guard<std::mutex> lock(mutex_);
      finished_.notify_one();
    }
  }
}

} // namespace baton::gpu
