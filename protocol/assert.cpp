#include "protocol/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace baton::protocol {

namespace {
assertion_hook installed_hook = nullptr;
thread_local int replays = 0; ///< of this thread
} // namespace

void set_assertion_hook(assertion_hook hook) { installed_hook = hook; }

replay_assertions::replay_assertions() { ++replays; }
replay_assertions::~replay_assertions() { --replays; }

void assertion_failed(const char* what, const char* file, int line) {
  if (replays > 0)
    throw assertion_broken{what};
  std::fprintf(stderr, "baton: invariant broken: %s (%s:%d)\n", what, file, line);
  if (installed_hook != nullptr)
    installed_hook(what, file, line);
  std::abort();
}

} // namespace baton::protocol
