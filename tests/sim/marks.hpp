// Rare branches that the search must have taken, named as steps of machines: which machine, in
// which state, on which message, into which state. A mark that nothing reaches any more is a test
// that has gone blind; the sim tests fail on it.
#pragma once

#include "tests/sim/address.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace baton::sim {

struct mark {
  const char* sentence;
  kind machine;
  const char* before; ///< "*": any
  const char* event;
  const char* after; ///< "*": any
};

const std::vector<mark>& all_marks();

/// How often each mark was reached, by distinct steps of machines. One list for each thread.
std::vector<std::uint64_t>& marks_reached();
void reach_marks(kind machine, const std::string& before, const std::string& event,
                 const std::string& after);

/// Sentences of those that were not reached.
std::vector<std::string> marks_missed();

} // namespace baton::sim
