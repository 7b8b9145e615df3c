// The timers of a node's actors. Nearly all of them bound a wait that ends well, and never ring:
// setting and dropping one costs no wake-up of any thread, and an actor that has ended keeps none.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace baton::actors {

class alarm_clock {
public:
  using time_point = std::chrono::steady_clock::time_point;
  /// When it rings, and its number among those set so far.
  using key = std::pair<time_point, std::uint64_t>;

  alarm_clock();
  ~alarm_clock() { stop(); }
  alarm_clock(const alarm_clock&) = delete;

  /// Calls `ring` on the clock's own thread, not before that moment; it must not block, and must
  /// not keep its actor alive.
  key set(time_point at, std::function<void()> ring);
  /// These ring no more; one that is ringing just now is not waited for.
  void drop(const std::vector<key>& alarms);
  /// Waits for one that is ringing; what has not rung by then never does. Not for that thread.
  void stop();

private:
  void run();

  std::mutex mutex_;
  std::condition_variable sooner_; ///< the first alarm is another one, or the end has come
  std::map<key, std::function<void()>> alarms_;
  std::uint64_t set_ = 0;
  bool ending_ = false;
  std::thread thread_; ///< last: starts when everything above is there
};

} // namespace baton::actors
