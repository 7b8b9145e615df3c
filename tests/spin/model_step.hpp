// What the model of hand_off.pml prints: one line for each step, "did <what> <who>: <state>".
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace baton::tests::spin {

struct model_step {
  std::string what;             ///< the step's name, as "heard_landed"
  std::uint32_t who = 0;        ///< attempt, reservation or lane; a second piece adds 6 to its lane
  std::vector<std::string> state; ///< words, in the order of `state_words`
};

/// What each word of a state stands for, as "block 0".
const std::vector<std::string>& state_words();

/// None for a line that is no step, or one that the simulator was stopped in.
std::optional<model_step> parse_step(const std::string& line);

std::vector<model_step> read_steps(std::istream& from);

} // namespace baton::tests::spin
