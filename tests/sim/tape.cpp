#include "tests/sim/tape.hpp"

#include <algorithm>
#include <sstream>

namespace baton::sim {

namespace {
constexpr const char* first_word = "baton-tape-1";
constexpr std::size_t picks_max = 1'000'000;
constexpr std::size_t picks_per_line = 20;
} // namespace

std::string to_text(const tape& t) {
  std::ostringstream out;
  out << first_word << '\n' << "frame " << t.frame << '\n' << "why " << t.why << '\n';
  for (std::size_t i = 0; i < t.picks.size(); ++i)
    out << t.picks[i] << (i % picks_per_line + 1 == picks_per_line ? '\n' : ' ');
  out << '\n';
  return out.str();
}

std::optional<tape> tape_from_text(const std::string& text, std::string& problem) {
  std::istringstream in(text);
  std::string word;
  tape t;
  if (!(in >> word) || word != first_word) {
    problem = std::string("line 1: a tape begins with ") + first_word;
    return std::nullopt;
  }
  if (!(in >> word >> t.frame) || word != "frame" || find_frame(t.frame) == nullptr) {
    problem = "line 2: expected \"frame\" and the name of a frame (see --list)";
    return std::nullopt;
  }
  if (!(in >> word) || word != "why") {
    problem = "line 3: expected \"why\" and a sentence";
    return std::nullopt;
  }
  std::getline(in, t.why); // the rest of this line, which may be empty
  t.why.erase(0, t.why.find_first_not_of(' '));
  for (std::uint32_t pick = 0; in >> pick;)
    if (t.picks.size() < picks_max)
      t.picks.push_back(pick);
  if (!in.eof()) {
    problem = "pick " + std::to_string(t.picks.size() + 1) + " is not a number";
    return std::nullopt;
  }
  return t;
}

const std::vector<run_frame>& frames() {
  static const std::vector<run_frame> all{
    {"tiny", 1, 1, 1, 2, 1, false, 400},
    {"small", 1, 1, 2, 2, 2, true, 400},
    {"retry", 1, 2, 2, 2, 3, true, 600},
    {"middle", 2, 2, 2, 8, 8, true, 4'000},
    {"large", 3, 3, 4, 200, 24, true, 60'000},
    {"mapped", 1, 1, 2, 3, 3, true, 500, true},
  };
  return all;
}

const run_frame* find_frame(const std::string& name) {
  for (const run_frame& f : frames())
    if (f.name == name)
      return &f;
  return nullptr;
}

run_result replay(const tape& t, run_observer* observer) {
  tape_choices chance(t.picks);
  return simulate(*find_frame(t.frame), chance, observer);
}

std::string broken_by(const tape& t) { return replay(t).broken; }

std::string invariant_of(const std::string& sentence) {
  return sentence.substr(0, sentence.find(':'));
}

namespace {

class shrinker {
public:
  shrinker(const tape& broken, std::uint32_t runs_max, const tape_judge& judge)
    : judge_(judge), best_(broken), runs_left_(runs_max),
      invariant_(invariant_of(judge(broken))) {}

  tape run() {
    for (bool better = true; better && runs_left_ > 0;) {
      better = drop_chunks();
      better = dull_chunks() || better;
      better = lower_picks() || better;
    }
    return best_;
  }

private:
  bool keeps(std::vector<std::uint32_t> picks) {
    if (runs_left_ == 0)
      return false;
    --runs_left_;
    tape candidate{best_.frame, std::move(picks), {}};
    const std::string why = judge_(candidate);
    if (why.empty() || invariant_of(why) != invariant_)
      return false;
    candidate.why = why;
    while (!candidate.picks.empty() && candidate.picks.back() == 0)
      candidate.picks.pop_back(); // what is past the end is dull anyway
    best_ = std::move(candidate);
    return true;
  }

  bool drop_chunks() {
    bool better = false;
    for (std::size_t size = best_.picks.size() / 2; size > 0; size /= 2)
      for (std::size_t at = 0; at + size <= best_.picks.size();) {
        auto picks = best_.picks;
        picks.erase(picks.begin() + static_cast<std::ptrdiff_t>(at),
                    picks.begin() + static_cast<std::ptrdiff_t>(at + size));
        if (keeps(std::move(picks)))
          better = true;
        else
          at += size == 2 ? 1 : size; // an action is two picks, wherever it begins
      }
    return better;
  }

  bool dull_chunks() {
    bool better = false;
    for (std::size_t size = best_.picks.size() / 2; size > 0; size /= 2)
      for (std::size_t at = 0; at + size <= best_.picks.size(); at += size) {
        auto picks = best_.picks;
        const auto first = picks.begin() + static_cast<std::ptrdiff_t>(at);
        const auto last = first + static_cast<std::ptrdiff_t>(size);
        if (std::all_of(first, last, [](std::uint32_t p) { return p == 0; }))
          continue;
        std::fill(first, last, 0);
        better = keeps(std::move(picks)) || better;
      }
    return better;
  }

  bool lower_picks() {
    bool better = false;
    for (std::size_t i = 0; i < best_.picks.size(); ++i)
      while (i < best_.picks.size() && best_.picks[i] > 0) {
        auto picks = best_.picks;
        picks[i] /= 2;
        if (!keeps(std::move(picks)))
          break;
        better = true;
      }
    return better;
  }

  const tape_judge& judge_;
  tape best_;
  std::uint32_t runs_left_;
  std::string invariant_;
};

} // namespace

tape shrink(const tape& broken, std::uint32_t runs_max, const tape_judge& judge) {
  return shrinker(broken, runs_max, judge).run();
}

} // namespace baton::sim
