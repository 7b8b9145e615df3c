#include "gpu/cpu/cpu_device.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::reason;

/// A plan that was turned away when it came; its failure keeps its place in the queue.
struct refused_plan {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  failure error;
};

struct quiesce_mark {
  std::uint64_t tag = 0;
};

using queue_entry = std::variant<step_plan, refused_plan, quiesce_mark>;

class cpu_device final : public device {
public:
  cpu_device(std::unique_ptr<executor> executor, device_sink sink)
    : executor_(std::move(executor)), sink_(std::move(sink)), thread_([this] { work(); }) {}

  ~cpu_device() override {
    std::optional<std::uint64_t> running;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      running = running_epoch_;
    }
    // A plan in a collective would wait for ranks that may be gone. An idle device poisons nobody:
    // its peers may still be reading the last operation.
    if (running)
      executor_->poison(*running, "a device of the group was destroyed");
    changed_.notify_one();
    thread_.join();
  }

  void enqueue(step_plan plan) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_plans_ < device_queue_plans_max) {
      ++waiting_plans_;
      queue_.emplace_back(std::move(plan));
    } else {
      // Refusals are bounded by their callers, who each wait for one event per plan.
      queue_.emplace_back(
        refused_plan{plan.epoch, plan.step,
                     {reason::queue_full, "device queue: holds "
                                            + std::to_string(device_queue_plans_max) + " plans"}});
    }
    changed_.notify_one();
  }

  void quiesce(std::uint64_t tag) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.emplace_back(quiesce_mark{tag});
    changed_.notify_one();
  }

  void poison(std::uint64_t epoch, std::string why) override { executor_->poison(epoch, why); }

private:
  void work() {
    while (auto next = take()) {
      if (auto* plan = std::get_if<step_plan>(&*next))
        sink_(run(*plan));
      else if (auto* refused = std::get_if<refused_plan>(&*next))
        sink_(plan_failed{refused->epoch, refused->step, std::move(refused->error)});
      else
        sink_(device_quiesced{std::get<quiesce_mark>(*next).tag});
    }
  }

  /// The next entry; nothing when the device is stopping and the queue is empty.
  std::optional<queue_entry> take() {
    std::unique_lock<std::mutex> lock(mutex_);
    running_epoch_.reset();
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty())
      return std::nullopt;
    queue_entry next = std::move(queue_.front());
    queue_.pop_front();
    if (auto* plan = std::get_if<step_plan>(&next)) {
      --waiting_plans_;
      if (stopping_)
        return refused_plan{plan->epoch, plan->step,
                            {reason::shutting_down, "device: is being destroyed"}};
      running_epoch_ = plan->epoch;
    }
    return next;
  }

  device_event run(const step_plan& plan) {
    const auto begin = std::chrono::steady_clock::now();
    auto results = executor_->run(plan);
    const auto spent = std::chrono::steady_clock::now() - begin;
    if (!results)
      return plan_failed{plan.epoch, plan.step, results.error()};
    return plan_completed{
      plan.epoch, plan.step, std::move(results.value()),
      std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count()};
  }

  std::unique_ptr<executor> executor_;
  device_sink sink_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<queue_entry> queue_;
  std::size_t waiting_plans_ = 0;
  std::optional<std::uint64_t> running_epoch_; ///< of the plan that has been taken, not yet ended
  bool stopping_ = false;
  std::thread thread_; ///< last: it uses all of the above
};

} // namespace

std::unique_ptr<device> make_cpu_device(std::unique_ptr<executor> executor, device_sink sink) {
  return std::make_unique<cpu_device>(std::move(executor), std::move(sink));
}

} // namespace baton::gpu
