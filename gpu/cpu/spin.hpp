// A short, bounded poll before a thread sleeps.
#pragma once

namespace baton::gpu {

/// Tells the processor that this is a polling loop.
inline void relax_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

/// Polls `done` up to `spins` times; true when it held.
template <class Done>
bool spin_until(int spins, Done&& done) {
  for (int i = 0; i < spins; ++i) {
    if (done())
      return true;
    relax_processor();
  }
  return done();
}

} // namespace baton::gpu
