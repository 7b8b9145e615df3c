#include "protocol/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace baton::protocol {

namespace {
assertion_hook installed_hook = nullptr;
} // namespace

void set_assertion_hook(assertion_hook hook) { installed_hook = hook; }

void assertion_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "baton: invariant broken: %s (%s:%d)\n", what, file, line);
  if (installed_hook != nullptr)
    installed_hook(what, file, line);
  std::abort();
}

} // namespace baton::protocol
