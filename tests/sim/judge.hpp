// Invariants that one machine's step can break on its own, judged once for each step that is new.
#pragma once

#include "tests/sim/catalogue.hpp"

namespace baton::sim {

/// I1, I4, I12: what changed hands, and whether the ledger, the blocks and the holdings still tell
/// one story. "" or the sentence of the breach.
std::string judge_pool(const protocol::pool::state& before, const protocol::pool::state& after,
                       std::vector<block_change>& changes);

/// I9: after its outcome a request only cleans up.
std::string judge_request(const protocol::request::state& before,
                          const std::vector<command>& commands);

} // namespace baton::sim
