// A router, a prefill group and a decode group in one actor system under CAF's testing scheduler:
// one message a step, one clock that only the test moves, and a seed that picks who goes next. The
// actors are the product's, all of them but node guards; devices are deterministic_devices.hpp.
//
// The network is deterministic_wires.hpp.
#pragma once

#include "protocol/messages_request.hpp"
#include "tests/protocol/hand_off_samples.hpp"
#include "tests/protocol/memory_trace.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace baton::tests {

struct deterministic_script {
  hand_off_shape shape; ///< of P7 and D3; never in place
  protocol::request_spec spec = sample_spec();
  std::uint32_t requests = 1; ///< asked for at once
  std::uint32_t decode_blocks = 8;
  std::optional<std::uint32_t> cancel_step; ///< when the first request's cancel is sent
  /// Which of the words between groups and the router is lost.
  std::optional<std::uint32_t> lost_word;
  /// In one of so many steps the next timer fires although somebody has mail; 0: time passes only
  /// when nobody has.
  std::uint32_t timer_in_steps = 0;
  bool laggards = false; ///< some actors, by the seed, hardly ever get their turn
};

/// All that a run leaves behind.
struct deterministic_run {
  std::vector<std::string> steps; ///< "actor: message", in order
  std::vector<protocol::request_ended> outcomes;
  std::uint32_t frames = 0;
  std::string lost; ///< the type of the word that was lost
  std::vector<std::string> not_at_rest; ///< pools, actors; empty when everything has drained
  memory_trace trace;
};

/// Runs all requests to their ends, and until no mail, no work and no timer is left.
deterministic_run run_deterministic(const deterministic_script& script, std::uint64_t seed);

} // namespace baton::tests
