#include "actors/alarm_clock.hpp"

namespace baton::actors {

alarm_clock::alarm_clock() : thread_([this] { run(); }) {}

void alarm_clock::stop() {
  if (!thread_.joinable())
    return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  sooner_.notify_one();
  thread_.join();
}

alarm_clock::key alarm_clock::set(time_point at, std::function<void()> ring) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const key mine{at, ++set_};
  const auto placed = alarms_.emplace(mine, std::move(ring)).first;
  if (placed == alarms_.begin())
    sooner_.notify_one();
  return mine;
}

void alarm_clock::drop(const std::vector<key>& alarms) {
  std::vector<std::function<void()>> dropped; // ends without the lock: what it holds may end too
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const key& each : alarms)
    if (auto found = alarms_.extract(each))
      dropped.push_back(std::move(found.mapped()));
}

void alarm_clock::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_) {
    if (alarms_.empty()) {
      sooner_.wait(lock);
      continue;
    }
    const time_point first = alarms_.begin()->first.first;
    if (std::chrono::steady_clock::now() < first) {
      sooner_.wait_until(lock, first);
      continue;
    }
    const auto due = alarms_.extract(alarms_.begin());
    lock.unlock();
    due.mapped()();
    lock.lock();
  }
}

} // namespace baton::actors
