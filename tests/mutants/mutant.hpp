// Ownership bugs that are compiled into the library protocol_mutated, asleep until a test wakes
// one. The bugs are in tests/mutants/table/*.txt; plant.py puts them into a copy of protocol's
// sources, so that the product itself has no hook.
#pragma once

#include <string>
#include <vector>

namespace baton::mutants {

struct planted {
  int number;
  const char* name;
  const char* table;    ///< name of the file where it stands
  const char* sentence; ///< what goes wrong for a user
  const char* unseen;   ///< why no message shows it; "": the trace check must find it
};

/// The planted bugs. Generated.
const std::vector<planted>& all();

/// At most one is active, in the whole process; 0 is none, which is how a process begins.
void activate(int number);

/// While it lives, none is active.
class asleep {
public:
  asleep();
  ~asleep();
  asleep(const asleep&) = delete;
  asleep& operator=(const asleep&) = delete;

private:
  int was_;
};

/// Asked by the planted code.
bool is(int number);

} // namespace baton::mutants
