// From what a client submitted to the canonical token ids of its prompt.
#pragma once

#include "actors/interfaces.hpp"
#include "protocol/messages_request.hpp"

namespace baton::actors {

/// The ids of the prompt: tokenised text, the given ids, or a synthetic prompt of
/// spec.prompt_tokens ids drawn from the request's seed. bad_input or out_of_range names the field:
/// an empty prompt, an id outside the vocabulary, more tokens than the model has positions.
protocol::outcome<protocol::token_list> read_prompt(const prompt_reader& reader,
                                                    const protocol::submit_request& asked);

/// XXH3-128 of the ids: 32 hexadecimal digits.
std::string prompt_digest(const protocol::token_list& prompt);

} // namespace baton::actors
