#include "actors/prompts.hpp"

#include "protocol/limits.hpp"
#include "protocol/scripted_request.hpp"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace baton::actors {

using namespace protocol;

namespace {

outcome<token_list> raw_prompt(const prompt_reader& reader, const submit_request& asked) {
  if (!asked.prompt_text.text.empty()) {
    if (!reader.tokenizer)
      return failure{reason::bad_input,
                     "prompt: this cluster's model has no tokenizer and reads no text; give "
                     "prompt_tokens or prompt_length"};
    auto ids = reader.tokenizer->encode(asked.prompt_text.text);
    if (!ids)
      return ids.error();
    return token_list{std::move(ids.value())};
  }
  if (!asked.prompt.ids.empty())
    return asked.prompt;
  const std::uint32_t tokens = std::min(asked.spec.prompt_tokens, limits::prompt_tokens_max + 1);
  return token_list{synthetic_prompt(tokens, asked.spec.sampling.seed, reader.vocab)};
}

/// A rank that meets such a value can only fail its step, and with it its group: it stops here.
failure check(const sampling_spec& sampling) {
  const float temperature = sampling.temperature.get();
  const float top_p = sampling.top_p.get();
  if (!(temperature >= 0.0F && temperature <= 100.0F)) // nor a NaN
    return {reason::bad_input,
            "temperature: expected 0 to 100, got " + std::to_string(temperature)};
  if (!(top_p > 0.0F && top_p <= 1.0F))
    return {reason::bad_input,
            "top_p: expected more than 0 and at most 1, got " + std::to_string(top_p)};
  return {};
}

failure check(const prompt_reader& reader, const token_list& prompt, const request_spec& spec) {
  if (failure why = check(spec.sampling))
    return why;
  if (prompt.ids.empty())
    return {reason::bad_input, "prompt: has no tokens"};
  if (prompt.ids.size() > limits::prompt_tokens_max)
    return {reason::out_of_range, "prompt: " + std::to_string(prompt.ids.size())
                                    + " tokens, the limit is "
                                    + std::to_string(limits::prompt_tokens_max)};
  if (spec.output_tokens == 0)
    return {reason::bad_input, "output_tokens: must be at least 1"};
  if (prompt.ids.size() + spec.output_tokens > reader.max_positions)
    return {reason::out_of_range,
            "prompt and output_tokens: " + std::to_string(prompt.ids.size()) + " + "
              + std::to_string(spec.output_tokens) + " exceed the model's "
              + std::to_string(reader.max_positions) + " positions"};
  for (std::size_t i = 0; i < prompt.ids.size(); ++i)
    if (prompt.ids[i] < 0 || static_cast<std::uint32_t>(prompt.ids[i]) >= reader.vocab)
      return {reason::out_of_range, "prompt_tokens[" + std::to_string(i)
                                      + "]: not in the vocabulary of "
                                      + std::to_string(reader.vocab)};
  return {};
}

} // namespace

outcome<token_list> read_prompt(const prompt_reader& reader, const submit_request& asked) {
  auto prompt = raw_prompt(reader, asked);
  if (!prompt)
    return prompt;
  if (failure why = check(reader, prompt.value(), asked.spec))
    return why;
  return prompt;
}

std::string prompt_digest(const token_list& prompt) {
  const XXH128_hash_t h
    = XXH3_128bits(prompt.ids.data(), prompt.ids.size() * sizeof(std::int32_t));
  return to_hex(h.high64, h.low64);
}

} // namespace baton::actors
