// Conformance of actors, looked at from the receiver's side: each machine is replayed with what its
// actor has recorded, and whatever reached another actor because of a step must be one of that
// step's effects, value by value, or a known consequence of one (a timer, a first message).
#pragma once

#include "tests/protocol/memory_trace.hpp"

#include <string>
#include <vector>

namespace baton::tests {

/// One sentence for each message that no machine has decided, and for each machine that decides
/// otherwise in the replay. Call it for traces that check_trace has accepted.
std::vector<std::string> said_without_decision(const memory_trace& trace);

/// The other way round: one sentence for each effect that another machine or the client takes as a
/// word, and nobody has got. Where a receiver may have ended, or a word be lost, that is no error.
std::vector<std::string> decided_without_saying(const memory_trace& trace);

} // namespace baton::tests
