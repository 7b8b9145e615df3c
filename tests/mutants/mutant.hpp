// Ownership bugs that are compiled into the library protocol_mutated, asleep until a test wakes
// one. The bugs are in tests/mutants/table/*.txt; plant.py puts them into a copy of protocol's
// sources, so that the product itself has no hook.
#pragma once

#include <string>
#include <vector>

namespace baton::mutants {

struct planted {
  const char* name;
  const char* file;     ///< of protocol/, the first that it changes
  const char* sentence; ///< what goes wrong for a user
};

/// The planted bugs; the one at index i has the number i + 1. Generated.
const std::vector<planted>& all();

/// At most one is active, in the whole process; 0 is none, which is how a process begins.
void activate(int number);
/// The number of that name; 0 when there is none.
int number_of(const std::string& name);

/// Asked by the planted code.
bool is(int number);

} // namespace baton::mutants
