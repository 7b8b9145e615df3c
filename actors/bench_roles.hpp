// The processes of a bench. The conductor starts one destination for each rank, each destination
// its source; the conductor says what to do next, all ranks do it at once, and it holds the clock.
//
//   conductor ──step──▶ destination ──step──▶ source
//             ◀─done──              ◀═blocks══
#pragma once

#include "actors/bench_node.hpp"
#include "actors/bench_pipe.hpp"

#include <string>
#include <vector>

namespace baton::actors::bench {

enum class step : std::uint64_t {
  prepare = 1,       ///< grant every lane of the next round
  hand_off,          ///< all lanes that were granted
  raw,               ///< the same blocks by the raw link
  copy,              ///< the same blocks by memcpy, within the destination
  short_alone,       ///< answers nanoseconds: the short lane by itself
  short_behind_long, ///< answers nanoseconds: the short lane, begun in the middle of a long one
  raw_chunk,         ///< answers nanoseconds: the last chunk by the raw link
  stream,            ///< answers nanoseconds: from the last chunk's offer to the last landing
  source_cpu,        ///< answers nanoseconds of CPU that the source has used so far
  destination_cpu,   ///< the same of the destination
};

struct setup {
  transport::path_kind path = transport::path_kind::pull; ///< UCX_TLS says over which transports
  workload load;
  std::string source_namespace; ///< network namespace of the sources; empty: this one
};

/// The inverse of its name; `off` for any other word.
transport::integrity integrity_named(const std::string& name);

/// As arguments of a partner, and back.
std::vector<std::string> to_arguments(const setup& s);
setup from_arguments(const std::vector<std::string>& words);

/// Runs a destination or a source until its starter's pipe closes. Exit code.
int run_role(const std::string& role, const std::vector<std::string>& words);

} // namespace baton::actors::bench
