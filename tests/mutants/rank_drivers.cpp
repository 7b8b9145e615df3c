// A rank group and the devices of its ranks: plans end on each rank when chance says so, sequences
// come, are cancelled and finish, a rank is lost. Judged by what the devices still have to run.
#include "protocol/rank_group.hpp"
#include "protocol/splitmix.hpp"
#include "tests/mutants/driver.hpp"

#include <algorithm>
#include <deque>
#include <map>

namespace baton::mutants {

namespace {

using namespace protocol;

constexpr std::uint64_t seeds_max = 2'000;
constexpr std::uint32_t ranks = 2;
constexpr std::uint32_t moves_max = 120;
constexpr std::uint32_t sequences_max = 6;

class group_world {
public:
  explicit group_world(std::uint64_t seed) : chance_(seed) {
    take(form_group{{"D3"}, ranks, 4, 8});
    for (std::uint16_t r = 0; r < ranks; ++r)
      take(rank_joined{{r}, {9, r + 1U}});
  }

  std::string run(progress& at) {
    for (std::uint32_t i = 0; i < moves_max && broken_.empty(); ++i, ++at.steps)
      move();
    for (std::uint32_t i = 0; i < 1'000 && broken_.empty() && complete_any(0); ++i)
      ++at.steps;
    for (const auto& [id, s] : sequences_) {
      expect(s.quiesced, id, "is never quiesced");
      expect(s.finished || s.cancelled || s.computed, id, "never ends");
    }
    return broken_;
  }

private:
  struct sequence {
    bool prompt = false;
    bool cancelled = false, finished = false, computed = false, quiesced = false;
  };
  struct device {
    bool lost = false;
    std::deque<run_step> plans; ///< the first is running
  };

  std::uint32_t below(std::uint32_t bound) {
    return chance_.between(0, bound - 1);
  }

  void move() {
    const std::uint32_t what = below(16);
    if (what < 3 && sequences_.size() < sequences_max)
      enter();
    else if (what == 3 && !sequences_.empty())
      cancel();
    else if (what == 4 && below(20) == 0)
      lose(below(ranks));
    else
      complete_any(below(ranks));
  }

  void enter() {
    const sequence_id id{sequences_.size() + 1};
    const bool prompt = below(2) == 0;
    sequences_[id].prompt = prompt;
    const token_list tokens{{1, 2, 3, 4, 5, 6, 7, 8, 9}};
    if (prompt)
      take(submit_prefill{id, {{1, 2}, 1, {1}}, tokens, {{0}, {1}, {2}}, false});
    else {
      activate_sequence e;
      e.sequence = id;
      e.prompt = tokens;
      e.blocks = {{3}, {4}, {5}};
      e.output_tokens = 1 + below(3);
      e.ignore_eos = true;
      take(e);
    }
  }

  void cancel() {
    const sequence_id id{1 + below(static_cast<std::uint32_t>(sequences_.size()))};
    sequences_[id].cancelled = true;
    take(cancel_sequence{id});
  }

  /// The process is gone, and what ran there with it; or it is silent, and runs on.
  void lose(std::uint32_t rank) {
    if (devices_[rank].lost)
      return;
    const bool dead = below(2) == 0;
    devices_[rank].lost = true;
    if (dead)
      devices_[rank].plans.clear();
    broken_group_ = true;
    take(rank_lost{
      {static_cast<std::uint16_t>(rank)}, {reason::peer_lost, "its node is gone"}, dead});
    if (!poisoned_ && broken_.empty())
      broken_ = "a lost rank does not poison its group";
  }

  /// One plan of a rank, `first` if it has any, ends. False when none has.
  bool complete_any(std::uint32_t first) {
    for (std::uint32_t i = 0; i < ranks; ++i) {
      const auto rank = static_cast<std::uint16_t>((first + i) % ranks);
      device& d = devices_[rank];
      if (d.plans.empty())
        continue;
      const run_step plan = d.plans.front();
      d.plans.pop_front();
      if (broken_group_) // its collectives miss a rank
        take(step_failed{{rank}, plan.epoch, plan.step, {reason::group_poisoned, "a rank left"}});
      else
        take(step_completed{{rank}, plan.epoch, plan.step, results_of(rank, plan)});
      return true;
    }
    return false;
  }

  static std::vector<slice_output> results_of(std::uint16_t rank, const run_step& plan) {
    std::vector<slice_output> results;
    for (const auto& s : plan.slices)
      if (rank == 0)
        results.push_back({s.sequence, {7},
                           s.kind == slice_kind::first_token || s.kind == slice_kind::decode,
                           false, {}});
    return results;
  }

  void expect(bool holds, const sequence_id& id, const std::string& what) {
    if (!holds && broken_.empty())
      broken_ = "sequence " + std::to_string(id.value) + " " + what;
  }

  /// A plan that names it is still to end on a rank that lives.
  bool touched(const sequence_id& id) const {
    return std::any_of(std::begin(devices_), std::end(devices_), [&](const device& d) {
      return std::any_of(d.plans.begin(), d.plans.end(), [&](const run_step& plan) {
        return std::any_of(plan.slices.begin(), plan.slices.end(),
                           [&](const plan_slice& s) { return s.sequence == id; });
      });
    });
  }

  void take(const rank_group::event& e) {
    auto result = rank_group::step(std::move(state_), e, {});
    state_ = std::move(result.state);
    for (const auto& effect : result.effects)
      std::visit([&](const auto& x) { run(x); }, effect);
  }

  template <class Effect>
  void run(const Effect&) {}
  void run(const poison_rank&) { poisoned_ = true; }
  void run(const run_step& e) {
    if (poisoned_ && broken_.empty())
      broken_ = "a poisoned group is loaded again";
    for (const auto& s : e.slices) {
      const sequence& q = sequences_[s.sequence];
      expect(!q.cancelled && !q.finished && !q.quiesced, s.sequence, "is planned after its end");
    }
    for (device& d : devices_)
      if (!d.lost)
        d.plans.push_back(e);
  }
  void run(const prefill_computed& e) {
    expect(!touched(e.sequence), e.sequence, "is said to be computed while a rank computes it");
    sequences_[e.sequence].computed = true;
  }
  void run(const sequence_finished& e) {
    expect(!sequences_[e.sequence].finished, e.sequence, "finishes twice");
    sequences_[e.sequence].finished = true;
  }
  void run(const sequence_quiesced& e) {
    expect(!sequences_[e.sequence].quiesced, e.sequence, "is quiesced twice");
    expect(!touched(e.sequence), e.sequence, "is quiesced while a rank still reads its blocks");
    sequences_[e.sequence].quiesced = true;
  }

  splitmix chance_;
  rank_group::state state_;
  device devices_[ranks];
  std::map<sequence_id, sequence> sequences_;
  bool broken_group_ = false, poisoned_ = false;
  std::string broken_;
};

std::string ranks_at_random(progress& at) {
  for (std::uint64_t seed = 0; seed < seeds_max; ++seed) {
    ++at.tries;
    at.steps = 0;
    const std::string what = group_world(seed).run(at);
    if (!what.empty())
      return what;
  }
  return "";
}

} // namespace

std::vector<driver> rank_drivers() {
  return {{"ranks", "one rank group with slow, cancelled and lost ranks", ranks_at_random}};
}

} // namespace baton::mutants
