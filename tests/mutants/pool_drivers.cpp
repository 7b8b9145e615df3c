// One decode pool with little of everything: few blocks and slots, a short queue, a budget for what
// is quarantined. Attempts ask, ask again, wait and leave; holders go live and end slowly. Judged
// by a count of its own of who holds what.
#include "protocol/block_pool.hpp"
#include "protocol/splitmix.hpp"
#include "tests/mutants/drawn_conversation.hpp"
#include "tests/mutants/driver.hpp"

#include <algorithm>
#include <set>

namespace baton::mutants {

namespace {

using namespace protocol;

constexpr std::uint64_t seeds_max = 300;
constexpr std::uint32_t moves_max = 150;
constexpr std::uint32_t blocks = 9, slots = 3, quarantine_max = 3, waiting_max = 2;
constexpr std::int64_t wait_ms = 50;

class pool_world {
public:
  explicit pool_world(std::uint64_t seed, tests::conversation_trace* trace = nullptr)
    : chance_(seed), trace_(trace) {
    form_pool formed = tests::sample_pool("D3", blocks, 2);
    formed.decode_slots = slots;
    formed.quarantine_blocks_max = quarantine_max;
    formed.waiting_max = waiting_max;
    generations_.resize(blocks);
    owner_ = formed.owner;
    take(formed);
  }

  std::string run(progress& at) {
    for (std::uint32_t i = 0; i < moves_max && broken_.empty(); ++i, ++at.steps)
      move();
    for (std::uint32_t i = 0;
         i < 1'000 && broken_.empty() && !(holders_.empty() && waiting_.empty()); ++i) {
      ++at.steps;
      now_ms_ += wait_ms; // whoever waits still is refused, whoever holds ends
      take(wait_expired{});
      if (!holders_.empty())
        finish(holders_.begin()->first);
    }
    if (!waiting_.empty())
      breach("an attempt waits for ever");
    if (broken_.empty() && state_.ledger.free != blocks)
      breach("a pool that nobody uses has blocks charged");
    if (broken_.empty())
      ask(++attempts_);
    if (broken_.empty() && holders_.empty())
      breach("an empty pool lets nobody in");
    return broken_;
  }

private:
  enum class phase : std::uint8_t { leased, live, quarantined };
  struct holder {
    std::uint32_t attempt = 0;
    std::set<std::uint32_t> blocks;
    phase now = phase::leased;
  };

  std::uint32_t below(std::uint32_t bound) { return chance_.between(0, bound - 1); }

  /// Where there is a trace, that is the judge.
  void breach(const std::string& sentence) {
    if (broken_.empty() && trace_ == nullptr)
      broken_ = sentence;
  }

  static attempt_id attempt_of(std::uint32_t n) { return {{5, n}, 1, {1}}; }

  void move() {
    switch (below(8)) {
    case 0:
    case 1: ask(++attempts_); break;
    case 2: // its answer was lost, or it is impatient
      if (attempts_ > 0)
        ask(1 + below(attempts_));
      break;
    case 3:
      if (!waiting_.empty())
        withdraw(waiting_.begin()->first);
      break;
    case 4: pass_time(); break;
    case 5: speak_to_a_former_life(); break;
    default:
      if (const auto count = static_cast<std::uint32_t>(holders_.size()); count > 0)
        push(std::next(holders_.begin(), below(count))->first);
      break;
    }
  }

  void ask(std::uint32_t n) {
    if (gone_.count(n) > 0)
      return; // it has had its answer, or has left
    reserve_request asked = tests::sample_reserve();
    asked.attempt = attempt_of(n);
    asked.spec.prompt_tokens = 1 + 4 * (n % 3);
    asked.spec.output_tokens = 4;
    asked.spec.queue_ms = wait_ms;
    if (!holds(n))
      waiting_.try_emplace(n, now_ms_ + wait_ms);
    take(asked);
    if (waiting_.size() > waiting_max)
      breach("more wait than may");
  }

  bool holds(std::uint32_t attempt) const {
    return std::any_of(holders_.begin(), holders_.end(),
                       [&](const auto& h) { return h.second.attempt == attempt; });
  }

  void withdraw(std::uint32_t n) {
    take(withdraw_attempt{attempt_of(n), hand_off_side::destination, {reason::cancelled, "left"}});
    if (waiting_.count(n) > 0)
      breach("who withdraws has no answer");
  }

  void pass_time() {
    now_ms_ += 1 + below(wait_ms);
    take(wait_expired{});
    for (const auto& [attempt, until] : waiting_)
      if (now_ms_ >= until)
        breach("an attempt waits longer than it may");
  }

  /// The same number under another incarnation: whoever has it now is not meant.
  void speak_to_a_former_life() {
    const incarnation former{owner_.high, owner_.low + 1};
    const revoke_reservation word{attempt_of(1), {former, 1 + below(3)}, {}};
    if (trace_ != nullptr)
      return take(word);
    if (!pool::step(state_, word, tests::at_ms(now_ms_)).effects.empty())
      breach("a word for another life is heard");
  }

  /// A holder goes on to its next phase.
  void push(std::uint64_t number) {
    holder& h = holders_.at(number);
    if (h.now == phase::leased && below(2) == 0) {
      h.now = phase::live;
      take(mark_live{{owner_, number}});
    } else if (h.now != phase::quarantined) {
      h.now = phase::quarantined;
      take(quarantine_blocks{{owner_, number}});
    } else {
      reclaim(number);
    }
  }

  void finish(std::uint64_t number) {
    take(quarantine_blocks{{owner_, number}});
    reclaim(number);
  }

  void reclaim(std::uint64_t number) {
    gone_.insert(holders_.at(number).attempt);
    holders_.erase(number);
    take(reclaim_blocks{{owner_, number}});
    if (trace_ == nullptr)
      take(reclaim_blocks{{owner_, number}}); // harmless, but no holder says it twice
  }

  void take(const pool::event& e) {
    auto result = pool::step(std::move(state_), e, tests::at_ms(now_ms_));
    state_ = std::move(result.state);
    if (trace_ != nullptr)
      trace_->handled("pool D3",
                      {std::visit([](const auto& x) { return x.type; }, e), tests::json_of(e),
                       "ready", "ready", tests::names_of(result.effects)},
                      tests::at_ms(now_ms_));
    for (const auto& effect : result.effects)
      std::visit([&](const auto& x) { run(x); }, effect);
  }

  /// The holder's first message, which is all that a trace knows of a grant.
  void note_grant(const open_reservation& e) {
    const begin_reservation begun{e, tests::sample_model(), tests::sample_lease_ms};
    trace_->handled("reservation " + std::to_string(e.granted.reservation.number),
                    {begin_reservation::type, to_json(begun), "nascent", "reserved", {}},
                    tests::at_ms(now_ms_));
  }

  template <class Effect>
  void run(const Effect&) {}
  void run(const reserve_refused& e) { answered(e.attempt); }
  void run(const open_reservation& e) {
    const auto n = static_cast<std::uint32_t>(e.granted.attempt.request.low);
    if (waiting_.count(n) == 0)
      breach("an attempt is granted that does not ask, or holds already");
    if (trace_ != nullptr)
      note_grant(e);
    answered(e.granted.attempt);
    gone_.erase(n);
    judge(e);
    holder h;
    h.attempt = n;
    for (const auto& ref : e.granted.blocks)
      h.blocks.insert(ref.block.value);
    holders_[e.granted.reservation.number] = h;
  }

  void answered(const attempt_id& attempt) {
    const auto n = static_cast<std::uint32_t>(attempt.request.low);
    waiting_.erase(n);
    gone_.insert(n);
  }

  void judge(const open_reservation& e) {
    std::uint32_t quarantined = 0;
    for (const auto& [number, h] : holders_) {
      quarantined += h.now == phase::quarantined ? static_cast<std::uint32_t>(h.blocks.size()) : 0;
      for (const auto& ref : e.granted.blocks)
        if (h.blocks.count(ref.block.value) > 0)
          breach("a block is granted while another holds it");
    }
    if (quarantined > quarantine_max)
      breach("a grant past the budget of what is quarantined");
    if (holders_.size() >= slots)
      breach("more are let in than have a slot");
    const std::uint32_t tokens = e.asked.spec.prompt_tokens + e.asked.spec.output_tokens;
    if (e.granted.blocks.size() * tests::sample_block_tokens < tokens)
      breach("a grant has no room for its output budget");
    for (const auto& ref : e.granted.blocks) {
      if (ref.gen.value <= generations_[ref.block.value])
        breach("a block is granted with the generation that it had");
      generations_[ref.block.value] = ref.gen.value;
    }
  }

  splitmix chance_;
  tests::conversation_trace* trace_ = nullptr;
  pool::state state_;
  incarnation owner_;
  std::int64_t now_ms_ = 0;
  std::uint32_t attempts_ = 0;
  std::map<std::uint64_t, holder> holders_;      ///< by reservation number
  std::map<std::uint32_t, std::int64_t> waiting_; ///< attempts, and until when
  std::set<std::uint32_t> gone_;
  std::vector<std::uint64_t> generations_;
  std::string broken_;
};

std::string pools_at_random(progress& at) {
  for (std::uint64_t seed = 0; seed < seeds_max; ++seed) {
    ++at.tries;
    at.steps = 0;
    const std::string what = pool_world(seed).run(at);
    if (!what.empty())
      return what;
  }
  return "";
}

} // namespace

void play_pool(std::uint64_t seed, tests::conversation_trace& trace) {
  progress unseen;
  static_cast<void>(pool_world(seed, &trace).run(unseen));
}

std::vector<driver> pool_drivers() {
  return {{"pool", "one small pool: who waits, who is let in, what is given back",
           pools_at_random}};
}

} // namespace baton::mutants
