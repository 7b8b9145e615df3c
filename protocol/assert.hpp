// An illegal transition is a programming error: the process aborts and says where, so that no later
// step builds on a state that cannot be. Assertions stay on in release builds.
#pragma once

namespace baton::protocol {

/// Called with the sentence of a failed assertion before the process aborts, so that the node can
/// write its trace out. Null: nothing is called.
using assertion_hook = void (*)(const char* what, const char* file, int line);
void set_assertion_hook(assertion_hook hook);

[[noreturn]] void assertion_failed(const char* what, const char* file, int line);

} // namespace baton::protocol

#define BATON_ASSERT(condition)                                                                    \
  do {                                                                                             \
    if (!(condition))                                                                              \
      ::baton::protocol::assertion_failed(#condition, __FILE__, __LINE__);                         \
  } while (false)
