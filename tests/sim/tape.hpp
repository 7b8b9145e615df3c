// A run as a file: the frame it was drawn in and its choices. Replayed, shrunk, kept when it found
// something (tests/seeds).
#pragma once

#include "tests/sim/simulate.hpp"

#include <functional>
#include <optional>

namespace baton::sim {

struct tape {
  std::string frame;
  std::vector<std::uint32_t> picks;
  std::string why; ///< what it showed when it was kept
};

std::string to_text(const tape& t);
/// nullopt and a sentence in `problem` when the text is not a tape.
std::optional<tape> tape_from_text(const std::string& text, std::string& problem);

/// Frames by name; nullptr when there is none.
const run_frame* find_frame(const std::string& name);
const std::vector<run_frame>& frames();

run_result replay(const tape& t, run_observer* observer = nullptr);

/// What a tape's run breaks, as a sentence; "" for nothing.
using tape_judge = std::function<std::string(const tape&)>;
/// The simulator's own judgement.
std::string broken_by(const tape& t);

/// A shorter or duller tape that breaks the same invariant. At most `runs_max` runs.
tape shrink(const tape& broken, std::uint32_t runs_max = 3'000,
            const tape_judge& judge = broken_by);

/// "I3" of "I3: block 0 is …"; what two violations must share to be the same.
std::string invariant_of(const std::string& sentence);

} // namespace baton::sim
