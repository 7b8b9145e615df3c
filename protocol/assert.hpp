// An illegal transition is a programming error: the process aborts and says where, so that no later
// step builds on a state that cannot be. Assertions stay on in release builds.
#pragma once

#include <string>

namespace baton::protocol {

/// Called with the sentence of a failed assertion before the process aborts, so that the node can
/// write its trace out. Null: nothing is called.
using assertion_hook = void (*)(const char* what, const char* file, int line);
void set_assertion_hook(assertion_hook hook);

/// What a failed assertion throws while a thread replays.
struct assertion_broken {
  std::string what;
};

/// For replaying recorded traces only: while it lives, a failed assertion of this thread throws
/// assertion_broken instead of ending the process, for a machine that a wrong trace has broken owns
/// no memory and is thrown away. Nothing that runs for a request may hold one.
class replay_assertions {
public:
  replay_assertions();
  ~replay_assertions();
  replay_assertions(const replay_assertions&) = delete;
  replay_assertions& operator=(const replay_assertions&) = delete;
};

[[noreturn]] void assertion_failed(const char* what, const char* file, int line);

} // namespace baton::protocol

#define BATON_ASSERT(condition)                                                                    \
  do {                                                                                             \
    if (!(condition))                                                                              \
      ::baton::protocol::assertion_failed(#condition, __FILE__, __LINE__);                         \
  } while (false)
