// Runs that leave a trace, judged by the trace check alone: what a person could find in a cluster's
// files. Nobody looks at devices here. The check itself is free of the bug that it hunts; that its
// replay would see any other machine at once does not count, and neither does a node that ends with
// an assertion: its last message is in no file.
#include "protocol/assert.hpp"
#include "protocol/manifest.hpp"
#include "protocol/trace_check.hpp"
#include "tests/mutants/drawn_conversation.hpp"
#include "tests/mutants/driver.hpp"
#include "tests/mutants/mutant.hpp"
#include "tests/protocol/trace_cluster.hpp"
#include "tests/sim/recorder.hpp"

#include <algorithm>

namespace baton::mutants {

namespace {

using namespace protocol;

/// More requests than a tenant's share, so that what is not given back is missed.
constexpr std::uint32_t requests = 12;
constexpr std::uint32_t conversations_max = 600;
constexpr std::uint64_t seeds_max = 400; ///< of each frame
constexpr std::uint64_t mapped_seeds_max = 3'500;

std::string said_of(const trace_source& trace, trace_extent extent) {
  const asleep sleeps;
  const check_report report = check_trace(trace, extent);
  for (const auto& v : report.violations)
    if (v.what.id != "replay")
      return v.what.id + ": " + v.what.sentence;
  return "";
}

// ---- one hand-off after the other, with the router's membership -------------------------------

std::string hand_offs(bool in_place, progress& at) {
  ++at.tries;
  try {
    const replay_assertions throwing;
    const auto trace = tests::record_hand_offs({requests, in_place});
    at.steps = trace.records.size();
    return said_of(trace, trace_extent::whole);
  } catch (const assertion_broken& e) {
    at.note("assertion: " + e.what);
    return "";
  }
}

// ---- conversations: rank groups, losses, delays, cancels ----------------------------------------

struct played {
  std::string said;
  bool ended_before = false; ///< the disturbance came too late, or an assertion before it
};

template <class Disturbance>
played converse(const tests::conversation_setup& setup, const tests::chooser& choose,
                std::uint32_t disturbed_at, const Disturbance& disturb, progress& at) {
  ++at.tries;
  tests::conversation_trace trace;
  played p;
  bool whole = false;
  p.ended_before = true;
  try {
    const replay_assertions throwing;
    tests::conversation c(setup, choose, &trace);
    bool going = true;
    while (going && c.steps() < disturbed_at)
      going = c.advance();
    p.ended_before = !going;
    if (disturbed_at != never)
      disturb(c);
    while (c.steps() < 20'000 && c.advance())
      at.steps = c.steps();
    whole = true;
  } catch (const assertion_broken& e) {
    at.note("assertion: " + e.what);
  } catch (const std::exception& e) {
    at.note(std::string("the play ends: ") + e.what());
  }
  const tests::memory_trace made = trace.take(whole);
  p.said = said_of(made, whole ? trace_extent::whole : trace_extent::partial);
  return p;
}

// Disturbances.
void nothing(tests::conversation&) {}
void cancel(tests::conversation& c) { c.cancel(); }
void expire(tests::conversation& c) { c.expire_leases(); }
void reach_deadline(tests::conversation& c) { c.reach_deadline(); }
void fail_kernel(tests::conversation& c) { c.fail_rank({1}, false); }
void lose_rank(tests::conversation& c) { c.fail_rank({1}, true); }

tests::conversation_setup plain(const tests::hand_off_shape& shape) {
  tests::conversation_setup setup;
  setup.shape = shape;
  return setup;
}

/// Each shape, with and without retention, with devices that repeat themselves, with prompt chunks
/// that end within a block; ranks that disagree; each manifest field falsified.
std::vector<tests::conversation_setup> undisturbed_setups() {
  std::vector<tests::conversation_setup> all;
  for (const auto& shape : shapes)
    for (const std::int64_t retention_ms : {0, 50}) {
      all.push_back(plain(shape));
      all.back().retention_ms = retention_ms;
      all.back().landings_repeated = retention_ms > 0;
      all.back().chunk_tokens = retention_ms > 0 ? 3 : 4;
    }
  all.push_back(plain(shapes.front()));
  all.back().states_differ = true;
  for (const auto& path : manifest_field_paths()) {
    all.push_back(plain(shapes.front()));
    all.back().falsified = path;
  }
  return all;
}

std::string undisturbed(progress& at) {
  for (const auto& setup : undisturbed_setups()) {
    const auto p = converse(setup, tests::in_order, never, nothing, at);
    if (!p.said.empty())
      return p.said;
  }
  return "";
}

template <class Disturbance>
std::string at_every_step(const Disturbance& disturb, std::uint32_t retries, progress& at,
                          std::int64_t deadline_ms = 0, std::uint32_t stride = 3) {
  for (const auto& shape : shapes) {
    bool going = true;
    for (std::uint32_t step = 0; going; step += stride) {
      auto setup = plain(shape);
      setup.shape.retries = retries;
      setup.deadline_ms = deadline_ms;
      const auto p = converse(setup, tests::in_order, step, disturb, at);
      if (!p.said.empty())
        return p.said;
      going = !p.ended_before;
    }
  }
  return "";
}

std::string cancelled(progress& at) { return at_every_step(cancel, 0, at); }
std::string expired(progress& at) { return at_every_step(expire, 0, at); }
std::string late(progress& at) { return at_every_step(reach_deadline, 0, at, 500, 9); }
std::string failing(progress& at) { return at_every_step(fail_kernel, 1, at); }
std::string losing(progress& at) { return at_every_step(lose_rank, 0, at); }

/// Message `nth` between two nodes comes once more: as soon as time may pass, which it does from
/// some step on until the word is there.
std::string repeated_at_every_step(const tests::hand_off_shape& shape, std::uint32_t nth,
                                   progress& at) {
  bool going = true;
  for (std::uint32_t step = 0; going; step += 3) {
    std::uint32_t words = 0;
    bool hurries = false;
    const auto choose = [&](tests::choice what, std::uint32_t bound) {
      if (what == tests::choice::next)
        return hurries ? bound - 1 : 0U;
      return static_cast<std::uint32_t>(words++ == nth ? tests::fate::comes_twice
                                                       : tests::fate::arrives);
    };
    const auto is_late = [](const std::string& word) {
      return word.find(": late ") != std::string::npos;
    };
    const auto hurry = [&](tests::conversation& c) {
      hurries = words > nth && std::none_of(c.log().begin(), c.log().end(), is_late);
      while (hurries && c.advance())
        hurries = !is_late(c.log().back());
    };
    const auto p = converse(plain(shape), choose, step, hurry, at);
    if (!p.said.empty())
      return p.said;
    going = !p.ended_before;
  }
  return "";
}

/// The prompt is sent to the source once more when it may have let go of it already: then a second
/// hold asks whether it may send.
std::string asked_twice(progress& at) {
  const auto& shape = shapes.front();
  for (std::uint32_t nth = 0;; ++nth) {
    std::uint32_t words = 0;
    const auto choose = [&words, nth](tests::choice what, std::uint32_t) {
      const bool repeated = what == tests::choice::fate && words++ == nth;
      return static_cast<std::uint32_t>(repeated ? tests::fate::comes_twice : tests::fate::arrives);
    };
    tests::conversation probe(plain(shape), choose);
    while (words <= nth)
      if (!probe.advance())
        return "";
    const std::string& word = probe.fated();
    if (word.find(": start_prefill") != std::string::npos)
      return repeated_at_every_step(shape, nth, at);
  }
}

/// One machine alone, without the rest of its cluster.
std::string alone(void (*play)(std::uint64_t, tests::conversation_trace&), progress& at) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ++at.tries;
    tests::conversation_trace trace;
    try {
      const replay_assertions throwing;
      play(seed, trace);
    } catch (const assertion_broken& e) {
      at.note("assertion: " + e.what);
    }
    const std::string said = said_of(trace.take(false), trace_extent::partial);
    if (!said.empty())
      return said;
  }
  return "";
}

/// A pool in want of everything.
std::string pools(progress& at) { return alone(play_pool, at); }
/// A router whose nodes come, go and come back.
std::string members(progress& at) { return alone(play_members, at); }

std::string interleaved(progress& at) {
  for (std::uint32_t seed = 0; seed < conversations_max; ++seed) {
    const drawn_conversation drawn = draw_conversation(seed);
    const auto p = converse(drawn.setup, drawn.choose, drawn.cancel_at, cancel, at);
    if (!p.said.empty())
      return p.said;
  }
  return "";
}

// ---- the simulated cluster: crashes, several requests and groups --------------------------------

/// Records a run and lets it go on, whatever it breaks.
class unjudged_run final : public sim::run_observer {
public:
  sim::world::observer* of_steps() override { return writes_.of_steps(); }
  void begins(sim::world& w) override {
    w.look_away();
    writes_.begins(w);
  }
  void acts(const sim::world& w, const sim::action& a) override { writes_.acts(w, a); }
  void heals(const sim::world& w) override { writes_.heals(w); }

  sim::recording result(const sim::run_result& run) { return writes_.result(run); }

private:
  sim::recorder writes_;
};

std::string simulated_in(const std::vector<const char*>& frames, std::uint64_t seeds,
                         progress& at) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed)
    for (const char* frame : frames) {
      ++at.tries;
      sim::prng_choices chance(seed);
      unjudged_run watching;
      const sim::run_result run = simulate(*sim::find_frame(frame), chance, &watching);
      at.steps = run.steps;
      if (sim::invariant_of(run.broken) == "assertion")
        at.note(run.broken);
      const sim::recording made = watching.result(run);
      const std::string said = said_of(made, made.extent);
      if (!said.empty())
        return said;
    }
  return "";
}

std::string simulated(progress& at) { return simulated_in({"small", "retry"}, seeds_max, at); }
std::string mapped(progress& at) { return simulated_in({"mapped"}, mapped_seeds_max, at); }

std::string traces(progress& at) {
  std::string said = hand_offs(false, at);
  if (said.empty())
    said = hand_offs(true, at);
  for (const auto play : {undisturbed, pools, interleaved, cancelled, expired, failing, losing,
                          simulated, members, late, asked_twice})
    if (said.empty())
      said = play(at);
  return said;
}

} // namespace

std::vector<driver> trace_drivers() {
  return {{"trace", "recorded runs under drawn faults, judged by the trace check alone", traces},
          {"trace_mapped", "the same where ranks write other ranks' memory", mapped}};
}

} // namespace baton::mutants
