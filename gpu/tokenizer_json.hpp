// Reads Hugging Face's tokenizer.json: BPE in its byte-level and its SentencePiece-style form.
//
//   text ─added tokens─▶ ─normalizer─▶ ─pre_tokenizer─▶ words ─model─▶ ids ─post_processor─▶
//   ids ─decoder─▶ bytes
//
// Offered: normalizers NFC, Prepend, Replace (string); pre-tokenizers Split (Isolated, or Removed
// and inverted), Digits, ByteLevel; model BPE without dropout and affixes; post-processors
// TemplateProcessing, ByteLevel; decoders ByteLevel, or Replace (string), ByteFallback, Fuse and
// Strip in this order; Sequence of each. Everything else is refused by name.
#pragma once

#include "gpu/bpe.hpp"
#include "gpu/tokenizer.hpp"
#include "gpu/tokenizer_field.hpp"
#include "gpu/tokenizer_text.hpp"
#include "gpu/tokenizer_words.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton::gpu {

/// What a tokenizer.json says, checked.
struct tokenizer_parts {
  std::vector<added_token> added;
  std::vector<normalizer_step> normalizer;
  word_splitter words;
  bpe_alphabet alphabet = bpe_alphabet::characters;
  bool space_first = false; ///< a text that does not begin with a space gets one
  std::vector<std::int32_t> before; ///< put before a prompt's ids
  std::vector<std::int32_t> behind; ///< and behind them
  token_pieces pieces;
  std::optional<bpe> model;
};

/// Reads the whole document. Throws protocol::failure: bad_input, unsupported.
tokenizer_parts read_tokenizer_parts(const json_field& document, std::uint32_t vocab_size);

/// The pre_tokenizer: fills words, alphabet and space_first. Throws protocol::failure.
void read_pre_tokenizer(const json_field& field, tokenizer_parts& parts);

/// The decoder, applied to each id of `parts.model` and `parts.added`: fills pieces. Throws
/// protocol::failure.
void read_decoder(const json_field& field, tokenizer_parts& parts);

/// A tokenizer made of the parts.
std::shared_ptr<const tokenizer> make_tokenizer(tokenizer_parts parts,
                                                std::vector<std::int32_t> eos, std::string digest);

} // namespace baton::gpu
