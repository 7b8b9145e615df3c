// The tokenizer that a tokenizer.json describes, at work.
#include "gpu/tokenizer_json.hpp"
#include "gpu/tokenizer_utf8.hpp"

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::outcome;
using protocol::reason;

/// Those tokens of `all` that are looked for in normalized text, or in the text as it comes.
std::vector<added_token> select(const std::vector<added_token>& all, bool normalized,
                                const std::vector<normalizer_step>& normalizer) {
  std::vector<added_token> some;
  for (auto token : all) {
    if (token.normalized != normalized)
      continue;
    if (normalized)
      token.content = normalize(normalizer, token.content);
    some.push_back(std::move(token));
  }
  return some;
}

class bpe_tokenizer final : public tokenizer {
public:
  bpe_tokenizer(tokenizer_parts parts, std::vector<std::int32_t> eos, std::string digest)
    : tokenizer(std::move(parts.pieces), std::move(eos), std::move(digest)),
      plain_tokens_(select(parts.added, false, parts.normalizer)),
      normalized_tokens_(select(parts.added, true, parts.normalizer)),
      parts_(std::move(parts)) {}

  outcome<std::vector<std::int32_t>> encode(const std::string& text) const override {
    if (const auto at = find_invalid_utf8(text); at != text.npos)
      return failure{reason::bad_input, "prompt: byte " + std::to_string(at) + " is not UTF-8"};
    auto ids = parts_.before;
    for (const auto& part : plain_tokens_.split(text)) {
      if (part.id >= 0)
        ids.push_back(part.id);
      else if (const auto error = append_text(part.text, ids))
        return error;
    }
    ids.insert(ids.end(), parts_.behind.begin(), parts_.behind.end());
    return ids;
  }

private:
  failure append_text(std::string_view text, std::vector<std::int32_t>& ids) const {
    const auto normalized = normalize(parts_.normalizer, text);
    for (const auto& part : normalized_tokens_.split(normalized)) {
      if (part.id >= 0)
        ids.push_back(part.id);
      else if (const auto error = append_words(part.text, ids))
        return error;
    }
    return {};
  }

  failure append_words(std::string_view text, std::vector<std::int32_t>& ids) const {
    std::string spaced;
    if (parts_.space_first && text.front() != ' ')
      text = spaced = " " + std::string(text);
    const auto words = parts_.words.split(text);
    if (!words)
      return words.error();
    for (const auto word : words.value())
      parts_.model->encode_word(word, ids);
    return {};
  }

  added_token_finder plain_tokens_;
  added_token_finder normalized_tokens_;
  tokenizer_parts parts_;
};

} // namespace

std::shared_ptr<const tokenizer> make_tokenizer(tokenizer_parts parts,
                                                std::vector<std::int32_t> eos,
                                                std::string digest) {
  return std::make_shared<bpe_tokenizer>(std::move(parts), std::move(eos), std::move(digest));
}

} // namespace baton::gpu
