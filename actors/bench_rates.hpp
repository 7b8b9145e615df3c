// The benches of bytes: pairs of processes, each with the product's endpoint over its own arena.
#pragma once

#include <cstdint>
#include <string>

namespace baton::actors::bench {

struct rates_arguments {
  std::string path = "pull"; ///< or "tcp", "shared_arena"
  std::uint32_t ranks = 2;
  std::uint32_t rounds = 5;
  std::uint32_t shrink = 1; ///< divides the count of blocks
  bool neighbouring = false;
  std::string integrity = "off"; ///< or "sampled", "all"
  std::string device;           ///< network device of path "tcp"; empty: the loopback one
  std::string source_namespace; ///< network namespace of the sources; empty: this one
};

/// Each prints its line and returns the exit code; docs/performance.md says what each compares.
int link(const rates_arguments& args);
int hand_off(const rates_arguments& args);
int burst(const rates_arguments& args);
int short_behind_long(const rates_arguments& args);
int streaming(const rates_arguments& args);

} // namespace baton::actors::bench
