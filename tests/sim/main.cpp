// simulate: searches small worlds exhaustively and larger ones by seeded runs.
#include "tests/sim/chart.hpp"
#include "tests/sim/recording.hpp"
#include "tests/sim/worlds.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace {

using namespace baton::sim;
using steady = std::chrono::steady_clock;

struct asked {
  std::string frame = "small";
  std::string world;
  std::uint64_t first = 1;
  std::uint64_t seeds = 0;
  double minutes = 0;
  std::string replay_file;
  std::string keep = "broken.tape";
  std::string record_directory;
  bool judged = false;
  bool list = false;
};

double seconds_since(steady::time_point begun) {
  return std::chrono::duration<double>(steady::now() - begun).count();
}

int list() {
  std::printf("frames of seeded runs:\n");
  for (const run_frame& f : frames())
    std::printf("  %-8s up to %u x %u groups of %u ranks, %u requests, %u blocks\n",
                f.name.c_str(), f.prefill_groups_max, f.decode_groups_max, f.ranks_max,
                f.requests_max, f.blocks_max);
  std::printf("worlds to search:\n");
  for (const small_world& w : small_worlds())
    std::printf("  %-40s %9llu states%s\n", w.setup.name.c_str(),
                static_cast<unsigned long long>(w.states), w.in_ci ? "" : " (not in CI)");
  return 0;
}

/// 0: searched to its end, nothing broken, as many states as pinned.
int search(const small_world& w) {
  const exploration e = explore(w.setup, {});
  std::printf("%-40s %9llu states %10llu transitions depth %3u %6llu steps %6.1f s "
              "%7.0f states/s %8.0f transitions/s%s\n",
              w.setup.name.c_str(), static_cast<unsigned long long>(e.states),
              static_cast<unsigned long long>(e.transitions), e.depth,
              static_cast<unsigned long long>(e.steps_known), e.seconds,
              static_cast<double>(e.states) / e.seconds,
              static_cast<double>(e.transitions) / e.seconds, e.complete ? "" : " NOT COMPLETE");
  std::fflush(stdout);
  if (!e.broken.empty())
    std::printf("%s\nbroken: %s\n", chart_of(w.setup, e.way).c_str(), e.broken.c_str());
  if (e.complete && e.states != w.states)
    std::printf("  pinned are %llu states\n", static_cast<unsigned long long>(w.states));
  return e.complete && e.states == w.states ? 0 : 1;
}

int search(const std::string& name) {
  if (name == "all" || name == "ci") {
    int worst = 0;
    for (const small_world& w : small_worlds())
      if (name == "all" || w.in_ci)
        worst = std::max(worst, search(w));
    return worst;
  }
  if (const small_world* found = find_world(name))
    return search(*found);
  std::fprintf(stderr, "simulate: no world is called \"%s\"; --list names them\n", name.c_str());
  return 2;
}

bool keep_trace(const tape& t, const std::string& directory) {
  const std::string problem = write(recorded(t), directory);
  if (!problem.empty())
    std::fprintf(stderr, "simulate: %s\n", problem.c_str());
  else
    std::printf("trace: baton trace check %s\n", directory.c_str());
  return problem.empty();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The simulator's word first, then the trace checker's.
std::string broken_by_both(const tape& t) {
  const std::string broken = broken_by(t);
  return broken.empty() ? first_line(trace_verdict(recorded(t))) : broken;
}

int show_violation(const asked& a, const tape& found) {
  const tape small = a.judged ? shrink(found, 3'000, broken_by_both) : shrink(found);
  std::ofstream(a.keep) << to_text(small);
  std::printf("%s\nreplay: simulate --replay %s\n", chart_of(small).c_str(), a.keep.c_str());
  const std::string beside = a.keep + ".trace";
  if (a.record_directory.empty())
    std::filesystem::remove_all(beside); // of the last tape of that name
  keep_trace(small, a.record_directory.empty() ? beside : a.record_directory);
  return 1;
}

int replay_file(const asked& a) {
  std::ifstream in(a.replay_file);
  std::stringstream text;
  text << in.rdbuf();
  std::string problem = "cannot be read";
  const auto t = in ? tape_from_text(text.str(), problem) : std::nullopt;
  if (!t) {
    std::fprintf(stderr, "simulate: %s: %s\n", a.replay_file.c_str(), problem.c_str());
    return 2;
  }
  std::printf("%s", chart_of(*t).c_str());
  if (!a.record_directory.empty() && !keep_trace(*t, a.record_directory))
    return 2;
  return replay(*t).broken.empty() ? 0 : 1;
}

/// One seed in twenty is run twice: both must end in the same state.
int run_seeds(const asked& a) {
  const run_frame* frame = find_frame(a.frame);
  if (frame == nullptr) {
    std::fprintf(stderr, "simulate: no frame is called \"%s\"; --list names them\n",
                 a.frame.c_str());
    return 2;
  }
  const auto begun = steady::now();
  std::uint64_t steps = 0;
  std::uint64_t done = 0;
  std::uint64_t completed = 0;
  const auto more = [&] {
    return a.minutes > 0 ? seconds_since(begun) < a.minutes * 60 : done < a.seeds;
  };
  for (std::uint64_t seed = a.first; more(); ++seed, ++done) {
    run_result r = simulate_seed(*frame, seed);
    if (a.judged && r.broken.empty())
      r.broken = first_line(trace_verdict(recorded(*frame, seed)));
    steps += r.steps;
    completed += r.completed;
    if (seed % 20 == 0 && simulate_seed(*frame, seed).unseed != r.unseed) {
      std::printf("seed %llu ends differently the second time\n",
                  static_cast<unsigned long long>(seed));
      return 1;
    }
    if (!r.broken.empty()) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), r.broken.c_str());
      prng_choices inner(seed);
      recording_choices recorded(inner);
      simulate(*frame, recorded);
      return show_violation(a, {a.frame, recorded.tape(), r.broken});
    }
  }
  const double seconds = seconds_since(begun);
  std::printf("%s: %llu seeds from %llu, %llu steps, %llu requests completed, %.1f s "
              "(%.0f steps/s), no violation\n",
              a.frame.c_str(), static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(a.first), static_cast<unsigned long long>(steps),
              static_cast<unsigned long long>(completed), seconds,
              static_cast<double>(steps) / seconds);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  asked a;
  CLI::App app{
    "Searches the ownership core: small worlds exhaustively, larger ones by seeded runs."};
  app.add_option("--seeds", a.seeds, "run so many seeds");
  app.add_option("--first", a.first, "the first seed")->capture_default_str();
  app.add_flag("--judge", a.judged, "let the trace checker judge each seed's run too");
  app.add_option("--minutes", a.minutes, "run seeds for so long");
  app.add_option("--frame", a.frame, "how large seeded runs may be")->capture_default_str();
  app.add_option("--world", a.world,
                 "search this small world exhaustively; \"ci\", \"all\": those");
  app.add_option("--replay", a.replay_file, "run a tape and show it");
  app.add_option("--keep", a.keep, "where a failing run's tape is written")->capture_default_str();
  app.add_option("--record", a.record_directory,
                 "write the replayed or failing run here as the trace that `baton trace` reads; "
                 "a failing seed's goes beside its tape otherwise");
  app.add_flag("--list", a.list, "name the frames and worlds");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (a.list)
    return list();
  if (!a.replay_file.empty())
    return replay_file(a);
  if (!a.world.empty())
    return search(a.world);
  if (a.seeds > 0 || a.minutes > 0)
    return run_seeds(a);
  std::cerr << "simulate: nothing to do: give --seeds, --minutes, --world or --replay (--help)\n";
  return 2;
}
