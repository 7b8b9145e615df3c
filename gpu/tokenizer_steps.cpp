// The two parts of tokenizer.json that come as a chain of steps: pre_tokenizer and decoder.
#include "gpu/tokenizer_json.hpp"

#include <utility>

namespace baton::gpu {

namespace {

// What a ByteLevel pre-tokenizer splits at when it is told to use its own expression (GPT-2's).
constexpr const char* byte_level_words =
  R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

void add_split(const json_field& field, const std::string& pattern, split_keeps keeps,
               tokenizer_parts& parts) {
  if (const auto error = parts.words.add(pattern, keeps))
    field.unsupported(error.text);
}

void read_split(const json_field& field, tokenizer_parts& parts) {
  const auto behavior = field["behavior"].text();
  const bool invert = field["invert"].flag_or(false);
  const bool keeps_matches = behavior == "Removed" && invert;
  if (behavior != "Isolated" && !keeps_matches)
    field.unsupported("behavior " + behavior + (invert ? ", inverted," : "") + " is not offered");
  const auto pattern = field["pattern"];
  add_split(pattern,
            pattern.has("String") ? quoted_pattern(pattern["String"].text())
                                  : pattern["Regex"].text(),
            keeps_matches ? split_keeps::matches : split_keeps::everything, parts);
}

enum class place { first, later };

void read_pre_tokenizer_step(const json_field& field, place where, tokenizer_parts& parts) {
  const auto type = field["type"].text();
  if (parts.alphabet == bpe_alphabet::bytes)
    field.unsupported(type + " after ByteLevel is not offered");
  if (type == "Sequence") {
    const auto list = field["pretokenizers"];
    for (std::size_t i = 0; i < list.size(); ++i)
      read_pre_tokenizer_step(list[i], i == 0 ? where : place::later, parts);
  } else if (type == "Split") {
    read_split(field, parts);
  } else if (type == "Digits") {
    const bool each = field["individual_digits"].flag_or(false);
    add_split(field, each ? R"(\p{N})" : R"(\p{N}+)", split_keeps::everything, parts);
  } else if (type == "ByteLevel") {
    parts.alphabet = bpe_alphabet::bytes;
    parts.space_first = field["add_prefix_space"].flag();
    if (parts.space_first && where == place::later)
      field["add_prefix_space"].unsupported("true is offered in the first step only");
    if (field["use_regex"].flag_or(true))
      add_split(field, byte_level_words, split_keeps::everything, parts);
  } else {
    field.unsupported("pre-tokenizer " + type + " is not offered");
  }
}

/// How a token becomes bytes, as the decoder's steps add up.
struct spelling {
  enum class bytes { as_written, of_symbols, of_fallbacks };
  bytes how = bytes::as_written;
  bool fused = false;
  std::vector<std::pair<std::string, std::string>> replacements;
};

void read_strip(const json_field& field, token_pieces& pieces) {
  if (field["stop"].count() != 0)
    field["stop"].unsupported("only 0 is offered: text that was sent cannot be taken back");
  pieces.strip = field["content"].text();
  if (pieces.strip.empty())
    field["content"].malformed("empty");
  pieces.strip_max = field["start"].count();
}

void read_decoder_step(const json_field& field, spelling& spell, token_pieces& pieces) {
  using bytes = spelling::bytes;
  const auto type = field["type"].text();
  const bool untouched = spell.how == bytes::as_written && !spell.fused;
  if (type == "Sequence") {
    const auto list = field["decoders"];
    for (std::size_t i = 0; i < list.size(); ++i)
      read_decoder_step(list[i], spell, pieces);
  } else if (type == "ByteLevel" && untouched && spell.replacements.empty()) {
    spell.how = bytes::of_symbols;
    spell.fused = true;
  } else if (type == "Replace" && untouched && field["pattern"].has("String")) {
    const auto from = field["pattern"]["String"];
    if (from.text().empty())
      from.malformed("empty");
    spell.replacements.emplace_back(from.text(), field["content"].text());
  } else if (type == "ByteFallback" && untouched) {
    spell.how = bytes::of_fallbacks;
  } else if (type == "Fuse") {
    spell.fused = true;
  } else if (type == "Strip" && spell.fused && pieces.strip_max == 0) {
    read_strip(field, pieces);
  } else {
    field.unsupported("decoder " + type + " is not offered, or not in this place");
  }
}

std::string spell_out(const spelling& spell, std::string token) {
  for (const auto& [from, to] : spell.replacements)
    token = replace_all(token, from, to);
  switch (spell.how) {
    case spelling::bytes::of_symbols:
      return bytes_of_symbols(token);
    case spelling::bytes::of_fallbacks:
      if (const auto byte = byte_of_fallback(token))
        return {static_cast<char>(*byte)};
      return token;
    case spelling::bytes::as_written:
      break;
  }
  return token;
}

} // namespace

void read_pre_tokenizer(const json_field& field, tokenizer_parts& parts) {
  if (!field.is_null())
    read_pre_tokenizer_step(field, place::first, parts);
}

void read_decoder(const json_field& field, tokenizer_parts& parts) {
  if (field.is_null())
    field.unsupported("null is not offered: it would put spaces between all tokens");
  spelling spell;
  read_decoder_step(field, spell, parts.pieces);
  auto& pieces = parts.pieces.bytes;
  const auto set = [&](std::int32_t id, std::string bytes) {
    if (pieces.size() <= static_cast<std::size_t>(id))
      pieces.resize(static_cast<std::size_t>(id) + 1);
    pieces[static_cast<std::size_t>(id)] = std::move(bytes);
  };
  for (const auto& [token, id] : parts.model->vocabulary())
    set(id, spell_out(spell, token));
  for (const auto& token : parts.added)
    set(token.id, token.special ? "" : spell_out(spell, token.content));
}

} // namespace baton::gpu
