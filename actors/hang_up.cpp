#include "actors/hang_up.hpp"

#include <csignal>

namespace baton::actors {

namespace {

bool ignored_at_start = false;

void look_at_start(int, char**, char**) {
  struct sigaction at_start {};
  ignored_at_start = sigaction(SIGHUP, nullptr, &at_start) == 0
                     && at_start.sa_handler == SIG_IGN;
}

/// The loader runs these before the constructors of any library, the only moment to see it.
__attribute__((section(".preinit_array"), used)) void (*const before_ucx)(int, char**, char**)
  = look_at_start;

} // namespace

void restore_hang_up() { std::signal(SIGHUP, ignored_at_start ? SIG_IGN : SIG_DFL); }

bool ignores_hang_up() { return ignored_at_start; }

} // namespace baton::actors
