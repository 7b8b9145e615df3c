// The device's promises: order, one end per plan, poison, quiesce, bounded queue, clean end.
#include "gpu/cpu/collective.hpp"
#include "gpu/cpu/cpu_device.hpp"
#include "tests/gpu/support.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <future>
#include <mutex>

using namespace baton::gpu;
using namespace baton::gpu::test;
using baton::protocol::failure;
using baton::protocol::outcome;
using baton::protocol::reason;

namespace {

/// Collects events as text and lets the test wait for a number of them.
class recorder {
public:
  device_sink sink() {
    return [this](device_event event) {
      const std::lock_guard<std::mutex> lock(mutex_);
      events_.push_back(text(event));
      changed_.notify_all();
    };
  }
  std::vector<std::string> wait_for(std::size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return events_.size() >= count; });
    return events_;
  }
  std::vector<std::string> events() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return events_;
  }

private:
  static std::string text(const device_event& event) {
    if (const auto* done = std::get_if<plan_completed>(&event))
      return "completed " + std::to_string(done->step);
    if (const auto* failed = std::get_if<plan_failed>(&event))
      return "failed " + std::to_string(failed->step) + " "
             + baton::protocol::to_string(failed->error.why);
    return "quiesced " + std::to_string(std::get<device_quiesced>(event).tag);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
};

/// An executor in which step 0 runs until the test lets it go or the group is poisoned: a kernel
/// that takes as long as the test needs.
class gated_executor final : public executor {
public:
  const geometry& shape() const override { return shape_; }

  outcome<std::vector<slice_result>> run(const step_plan& plan) override {
    std::unique_lock<std::mutex> lock(mutex_);
    if (plan.step == 0) {
      entered_.set_value();
      changed_.wait(lock, [&] { return open_ || ended_epoch_ >= plan.epoch; });
    }
    if (ended_epoch_ >= plan.epoch)
      return failure{reason::group_poisoned, "test"};
    return std::vector<slice_result>(plan.slices.size());
  }
  void poison(std::uint64_t epoch, const std::string&) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_epoch_ = std::max(ended_epoch_, epoch);
    changed_.notify_all();
  }

  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_until_entered() { entered_.get_future().wait(); }

private:
  geometry shape_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::promise<void> entered_;
  bool open_ = false;
  std::uint64_t ended_epoch_ = 0;
};

step_plan plan_of(std::uint64_t epoch, std::uint64_t step) { return {epoch, step, {}}; }

using texts = std::vector<std::string>;

} // namespace

TEST_CASE("plans end in the order of the calls, and quiesce speaks after those before it") {
  recorder seen;
  auto owned = std::make_unique<gated_executor>();
  gated_executor& gate = *owned;
  const auto d = make_cpu_device(std::move(owned), seen.sink());
  d->enqueue(plan_of(1, 0));
  d->quiesce(70);
  d->enqueue(plan_of(1, 1));
  d->enqueue(plan_of(1, 2));
  d->quiesce(71);
  gate.wait_until_entered();
  CHECK(seen.events().empty()); // enqueue is not completion
  gate.open();
  CHECK(seen.wait_for(5)
        == texts{"completed 0", "quiesced 70", "completed 1", "completed 2", "quiesced 71"});
}

TEST_CASE("poison ends the running plan and those queued, later epochs run on") {
  recorder seen;
  auto owned = std::make_unique<gated_executor>();
  gated_executor& gate = *owned;
  const auto d = make_cpu_device(std::move(owned), seen.sink());
  d->enqueue(plan_of(1, 0));
  d->enqueue(plan_of(1, 1));
  gate.wait_until_entered();
  d->poison(1, "test");
  d->poison(1, "test");
  d->quiesce(5);
  d->enqueue(plan_of(1, 2));
  d->enqueue(plan_of(2, 3));
  CHECK(seen.wait_for(5)
        == texts{"failed 0 group_poisoned", "failed 1 group_poisoned", "quiesced 5",
                 "failed 2 group_poisoned", "completed 3"});
}

TEST_CASE("a full queue fails the plan that does not fit, in its place") {
  recorder seen;
  auto owned = std::make_unique<gated_executor>();
  gated_executor& gate = *owned;
  const auto d = make_cpu_device(std::move(owned), seen.sink());
  d->enqueue(plan_of(1, 0));
  gate.wait_until_entered();
  for (std::uint64_t step = 1; step <= device_queue_plans_max + 2; ++step)
    d->enqueue(plan_of(1, step));
  gate.open();
  const auto events = seen.wait_for(device_queue_plans_max + 3);
  CHECK(events[device_queue_plans_max] == "completed " + std::to_string(device_queue_plans_max));
  CHECK(events[device_queue_plans_max + 1]
        == "failed " + std::to_string(device_queue_plans_max + 1) + " queue_full");
  CHECK(events.back() == "failed " + std::to_string(device_queue_plans_max + 2) + " queue_full");
  d->enqueue(plan_of(1, 9999)); // room again
  CHECK(seen.wait_for(device_queue_plans_max + 4).back() == "completed 9999");
}

TEST_CASE("destruction ends the running plan, fails the rest and joins") {
  recorder seen;
  auto owned = std::make_unique<gated_executor>();
  gated_executor& gate = *owned;
  auto d = make_cpu_device(std::move(owned), seen.sink());
  d->enqueue(plan_of(1, 0));
  d->enqueue(plan_of(1, 1));
  d->quiesce(4);
  gate.wait_until_entered();
  d.reset();
  CHECK(seen.events()
        == texts{"failed 0 group_poisoned", "failed 1 shutting_down", "quiesced 4"});
}

TEST_CASE("two devices of a group run equal plans; poison frees one that waits for its peer") {
  const auto source = load_if_present(stories_folder);
  if (!source) {
    MESSAGE("stories260K is not at hand");
    return;
  }
  auto group = make_local_group(2, {60'000, 1ULL << 20, 200});
  std::vector<recorder> seen(2);
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::unique_ptr<device>> devices;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    rank_options options;
    options.tp_rank = rank;
    options.tp_degree = 2;
    memory.emplace_back(4 * block_bytes(rank_geometry(source->config(), options).value()));
    auto run = make_llama_executor(source, options, {memory.back().data(), 4},
                                   group.value()[rank].get());
    REQUIRE(run.ok());
    devices.push_back(make_cpu_device(std::move(run.value()), seen[rank].sink()));
  }
  auto s = tokens_slice({1, 2, 3}, 0, {2});
  s.sample = sampling{};
  for (std::uint64_t step = 1; step <= 20; ++step)
    for (auto& d : devices)
      d->enqueue({1, step, {s}});
  for (auto& r : seen)
    CHECK(r.wait_for(20).back() == "completed 20");

  devices[0]->enqueue({1, 21, {s}}); // rank 1 never gets this plan
  devices[1]->poison(1, "the leader went away");
  CHECK(seen[0].wait_for(21).back() == "failed 21 group_poisoned");
  devices[1]->enqueue({1, 21, {s}});
  CHECK(seen[1].wait_for(21).back() == "failed 21 group_poisoned");
}
