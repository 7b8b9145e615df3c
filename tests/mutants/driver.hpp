// A hunt: something that runs the machines of protocol/ in some way and says what went wrong.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace baton::mutants {

/// Where a driver is. It lies in memory that outlives the driver's process, for the mutant may end
/// it with an assertion.
struct progress {
  std::uint64_t tries = 0; ///< runs begun: seeds, conversations, worlds
  std::uint64_t steps = 0; ///< of the present run
  char sentence[240] = {}; ///< of the assertion that ended the process
  char noted[240] = {}; ///< what happened that this driver may not judge

  void note(const std::string& what) { std::snprintf(noted, sizeof noted, "%s", what.c_str()); }
};

struct driver {
  const char* name;
  const char* what; ///< one line for people
  /// Runs until something is wrong and says what, or to its end and says nothing.
  std::string (*hunt)(progress& at);
};

/// A moment that is looked at on its own: says what is wrong with it, or nothing.
using scene = std::string (*)();

/// One after the other, each a run, until one says something.
inline std::string play(const std::vector<scene>& scenes, progress& at) {
  for (const scene s : scenes) {
    ++at.tries;
    const std::string what = s();
    if (!what.empty())
      return what;
  }
  return "";
}

std::vector<driver> conversation_drivers();
std::vector<driver> trace_drivers();
std::vector<driver> rank_drivers();
std::vector<driver> member_drivers();
std::vector<driver> pool_drivers();
std::vector<driver> word_drivers();
std::vector<driver> ending_drivers();
std::vector<driver> sim_drivers();

} // namespace baton::mutants
