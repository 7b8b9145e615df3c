// A router, a prefill group and a decode group in one actor system under CAF's testing scheduler:
// one message a step, one clock that only the test moves, and a seed that picks who goes next. The
// actors are the product's, all of them but node guards; devices are deterministic_devices.hpp.
//
// Words between nodes go through wires (actors that pass on), so that what one node says to two
// actors of another one may come in any order.
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
  std::uint32_t decode_blocks = 8;
  std::optional<std::uint32_t> cancel_step; ///< the client's cancel is sent after so many steps
  /// In one of so many steps the next timer fires although somebody has mail; 0: time passes only
  /// when nobody has.
  std::uint32_t timer_in_steps = 0;
};

/// All that a run leaves behind.
struct deterministic_run {
  std::vector<std::string> steps; ///< "actor: message", in order
  std::vector<protocol::request_ended> outcomes;
  std::uint32_t frames = 0;
  std::vector<std::string> not_at_rest; ///< pools, actors; empty when everything has drained
  memory_trace trace;
};

/// Runs one request to its end, and until no mail, no work and no timer is left.
deterministic_run run_deterministic(const deterministic_script& script, std::uint64_t seed);

} // namespace baton::tests
