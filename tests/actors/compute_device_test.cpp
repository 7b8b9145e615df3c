// The actor of a compute device, with a device that only notes its plans: the test says when one
// has ended.
#include "actors/device_messages.hpp"
#include "actors/interfaces.hpp"
#include "actors/messages_caf.hpp"
#include "tests/actors/mailbox.hpp"

#include <doctest/doctest.h>

using namespace baton;
using namespace baton::actors;
using namespace baton::protocol;

namespace {

struct idle_device : gpu::device {
  void enqueue(gpu::step_plan) override {}
  void quiesce(std::uint64_t) override {}
  void poison(std::uint64_t, std::string) override {}
};

struct one_device {
  one_device() {
    configure(config, 200, 1000);
    system = std::make_unique<caf::actor_system>(config);
    node.name = {"P.0"};
    compute_setup setup;
    setup.device = &device;
    compute = spawn_compute_device(*system, node, setup);
    feed = std::make_unique<mailbox>(*system, node);
  }
  ~one_device() { feed->tell(compute, end_node{}); }

  void watch(sequence_id sequence) {
    feed->tell(compute, watch_sequence{sequence}, feed->own());
  }

  void begin(sequence_id sequence) {
    begin_sequence e;
    e.sequence = sequence;
    e.prompt.ids.assign(32, 1);
    e.blocks = {{0}, {1}};
    feed->tell(compute, std::move(e));
  }

  /// 16 tokens of the prompt are planned, and their plan ends.
  void compute_half(sequence_id sequence, std::uint32_t start) {
    const auto kind = start == 0 ? slice_kind::prefill : slice_kind::last_prefill;
    const step_number step{++steps};
    feed->tell(compute, run_step{{1}, step, {plan_slice{sequence, kind, start, 16, {}}}});
    slice_ended ended;
    ended.sequence = sequence;
    if (kind == slice_kind::last_prefill)
      ended.hidden.values = {0.5F, 2.0F};
    feed->tell(compute, plan_ended{{1}, step, {}, {ended}, 0});
  }

  source_ready next_ready() {
    const auto next = feed->next<source_ready>();
    REQUIRE(std::holds_alternative<source_ready>(next));
    return std::get<source_ready>(next);
  }

  idle_device device;
  std::uint64_t steps = 0;
  caf::actor_system_config config;
  node_context node;
  std::unique_ptr<caf::actor_system> system;
  handle compute;
  std::unique_ptr<mailbox> feed;
};

} // namespace

TEST_CASE("a feed that watches a sequence before it begins hears of each computed part") {
  one_device t;
  t.watch({7});
  t.begin({7});
  t.compute_half({7}, 0);
  t.compute_half({7}, 16);
  CHECK(t.next_ready().computed_tokens == 16);
  const source_ready last = t.next_ready();
  CHECK(last.sequence == sequence_id{7});
  CHECK(last.computed_tokens == 32);
  CHECK(last.resume.values == std::vector<float>{0.5F, 2.0F});
}

TEST_CASE("a feed that watches late hears at once what has been computed") {
  one_device t;
  t.begin({7});
  t.compute_half({7}, 0);
  t.compute_half({7}, 16);
  t.watch({7});
  const source_ready all = t.next_ready();
  CHECK(all.computed_tokens == 32);
  CHECK(all.resume.values == std::vector<float>{0.5F, 2.0F});
}

TEST_CASE("nobody watches a sequence that has ended") {
  one_device t;
  t.watch({7});
  t.begin({7});
  t.feed->tell(t.compute, end_sequence{{7}});
  t.begin({7});
  t.compute_half({7}, 0); // would be heard before what follows
  t.watch({8});
  t.begin({8});
  t.compute_half({8}, 0);
  CHECK(t.next_ready().sequence == sequence_id{8});
}
