// Builds the two manifests of a hand-off: the destination's from what it trusts, the source's from
// what it computes. They share no field's source but the request itself, or agreement would be
// empty.
#pragma once

#include "protocol/messages_reserve.hpp"

namespace baton::protocol {

/// What the destination expects: the router's request, its own grant and its own model.
manifest destination_manifest(const model_identity& own_model, const reserve_request& asked,
                              const grant& granted);

/// What the source offers: the prompt it was given and its own model, for the grant it was shown.
manifest source_manifest(const model_identity& own_model, std::uint32_t own_tp_degree,
                         const start_prefill& asked);

/// Sum of the blocks' generations: one number that a stale table cannot match.
std::uint64_t generation_sum(const std::vector<block_ref>& blocks);

} // namespace baton::protocol
