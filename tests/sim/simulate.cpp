#include "tests/sim/simulate.hpp"

#include "tests/sim/explore.hpp"

#include <algorithm>
#include <map>
#include <memory>

namespace baton::sim {

namespace {

/// By action kind. Half of the faults are off in a run; the others are weighed from 1 to 100.
using weights = std::vector<std::uint32_t>;

struct drawn {
  world_setup setup;
  weights by_kind;
};

std::uint8_t upto(choices& c, std::uint32_t max, const char* what) {
  return static_cast<std::uint8_t>(1 + c.pick(max, what));
}

std::uint8_t budget(choices& c, std::uint32_t most, const char* what) {
  return c.pick(2, what) == 0 ? 0 : static_cast<std::uint8_t>(c.pick(most, what) + 1);
}

void draw_requests(const run_frame& frame, choices& c, world_setup& s) {
  const std::uint32_t count = 1 + c.pick(frame.requests_max, "requests");
  const std::uint32_t blocks = std::min(s.shape.prefill_blocks, s.shape.decode_blocks);
  for (std::uint32_t i = 0; i < count; ++i) {
    request_plan plan;
    plan.prompt_blocks = upto(c, std::min(blocks, 3U), "prompt blocks");
    plan.output_tokens = upto(c, 3, "output tokens");
    plan.retries = static_cast<std::uint8_t>(c.pick(3, "retries"));
    plan.waits = c.pick(4, "waits") > 0;
    s.requests.push_back(plan);
  }
}

/// Kernels, and the word that a process is collected, are outrun by everything else: what frees
/// blocks too soon does so while they are still written.
void slow_down_writers(weights& by_kind) {
  for (std::uint32_t& weight : by_kind)
    weight += 30;
  const auto weigh = [&](action::what kind, std::uint32_t weight) {
    by_kind[static_cast<std::size_t>(kind)] = weight;
  };
  weigh(action::what::compute, 2);
  weigh(action::what::reap, 2);
  weigh(action::what::outwait, 60);
  weigh(action::what::restart, 60);
}

drawn draw(const run_frame& frame, choices& c) {
  drawn d;
  auto& s = d.setup;
  s.name = frame.name;
  s.shape.prefill_groups = upto(c, frame.prefill_groups_max, "prefill groups");
  s.shape.decode_groups = upto(c, frame.decode_groups_max, "decode groups");
  s.shape.waiting_max = frame.requests_max;
  static constexpr std::uint8_t degrees[] = {1, 2, 4};
  const std::uint32_t degree_count = frame.ranks_max >= 4 ? 3 : frame.ranks_max;
  s.shape.prefill_ranks = degrees[c.pick(degree_count, "prefill ranks")];
  s.shape.decode_ranks = degrees[c.pick(degree_count, "decode ranks")];
  s.shape.prefill_blocks = 1 + c.pick(frame.blocks_max, "prefill blocks");
  s.shape.decode_blocks = 1 + c.pick(frame.blocks_max, "decode blocks");
  if (frame.mapped) { // rank by rank, and no memory of its own
    s.shape.mapped = true;
    s.shape.prefill_ranks = s.shape.decode_ranks;
    s.shape.prefill_blocks = s.shape.decode_blocks;
  }
  if (frame.varied) {
    s.shape.decode_slots = 1 + c.pick(4, "slots");
    s.shape.retention_ms = c.pick(2, "retention") * 50;
  }
  draw_requests(frame, c, s);
  s.may = {budget(c, 30, "losses"),  budget(c, 30, "copies"),   budget(c, 3, "crashes"),
           budget(c, 10, "cancels"), budget(c, 10, "expiries"), budget(c, 60, "impatience"),
           budget(c, 5, "spoils")};
  if (frame.mapped)
    s.may.silences = budget(c, 3, "silences");
  s.overtaking = c.pick(2, "overtaking") == 1;
  s.local_queues = c.pick(2, "local queues") == 1;
  const std::size_t kinds_met = frame.mapped ? action_kinds : action_kinds_unmapped;
  for (std::size_t i = 0; i < kinds_met; ++i)
    d.by_kind.push_back(1 + c.pick(100, "weight"));
  if (frame.mapped && c.pick(2, "slow writers") == 1)
    slow_down_writers(d.by_kind);
  return d;
}

/// Chooses a kind of action by weight, then one of that kind, oldest first.
class chooser {
public:
  chooser(const weights& by_kind, choices& chance) : by_kind_(by_kind), chance_(chance) {}

  const action& choose(const std::vector<action>& next) {
    std::uint32_t counts[action_kinds] = {};
    for (const action& a : next)
      ++counts[static_cast<std::size_t>(a.kind)];
    // Only kinds that can happen are offered, so that 0 is the dullest of them.
    offered_.clear();
    kinds_.clear();
    for (std::size_t k = 0; k < action_kinds; ++k)
      if (counts[k] > 0) {
        kinds_.push_back(k);
        offered_.push_back(by_kind_[k]);
      }
    const std::size_t kind = kinds_[chance_.weigh(offered_, "kind")];
    std::uint32_t left = chance_.pick(counts[kind], "which");
    for (const action& a : next)
      if (static_cast<std::size_t>(a.kind) == kind && left-- == 0)
        return a;
    return next.front();
  }

private:
  const weights& by_kind_;
  choices& chance_;
  weights offered_;
  std::vector<std::size_t> kinds_;
};

void count_outcomes(const world& w, run_result& result) {
  for (const client_row& c : w.clients()) {
    result.completed += c.outcome == 1 ? 1 : 0;
    result.failed += c.outcome > 1 ? 1 : 0;
  }
  result.steps = w.handled();
  result.unseed = w.fingerprint();
}

/// What machines do is the same in every run: looked up across runs of one shape. Thrown away when
/// it grows, for a large world's states are met once.
catalogue& catalogue_of(const cluster_shape& shape) {
  static thread_local std::map<bytes, std::unique_ptr<catalogue>> known;
  static constexpr std::size_t steps_kept_max = 400'000;
  std::size_t steps = 0;
  for (const auto& [key, c] : known)
    steps += c->steps();
  if (steps > steps_kept_max)
    known.clear();
  auto& mine = known[encoded(shape)];
  if (mine == nullptr)
    mine = std::make_unique<catalogue>(shape);
  return *mine;
}

} // namespace

run_result simulate(const run_frame& frame, choices& chance, run_observer* observer) {
  const drawn d = draw(frame, chance);
  world w(catalogue_of(d.setup.shape), d.setup,
          observer == nullptr ? nullptr : observer->of_steps());
  if (observer != nullptr)
    observer->begins(w);
  run_result result;
  std::vector<action> next;
  chooser chooses(d.by_kind, chance);
  for (std::uint32_t i = 0; i < frame.steps_max && w.broken().empty(); ++i) {
    w.enabled(next);
    if (next.empty())
      break;
    const action a = chooses.choose(next);
    if (observer != nullptr)
      observer->acts(w, a);
    w.apply(a);
    ++result.actions;
  }
  result.broken = w.broken();
  if (result.broken.empty()) {
    w.heal();
    if (observer != nullptr)
      observer->heals(w);
    result.broken = run_to_rest(w, 20'000, observer, &result.actions);
  }
  count_outcomes(w, result);
  return result;
}

run_result simulate_seed(const run_frame& frame, std::uint64_t seed) {
  prng_choices chance(seed);
  return simulate(frame, chance);
}

} // namespace baton::sim
