// Text to token ids and back. A tokenizer is immutable and may be shared between threads.
//
//   text ──encode──▶ ids ──(model)──▶ ids ──text_stream.push──▶ text, whole characters only
#pragma once

#include "protocol/outcome.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace baton::gpu {

/// What each id turns into. Concatenated in order, the pieces are the text, as bytes: one character
/// may be spread over several ids.
struct token_pieces {
  /// By id: the bytes; empty for special tokens, which are never shown.
  std::vector<std::string> bytes;
  /// Removed from the start of the text, at most `strip_max` times: SentencePiece puts a space
  /// before the first word.
  std::string strip;
  std::uint32_t strip_max = 0;
};

/// Text of tokens that arrive one by one. What push() has returned is final.
class text_stream {
public:
  explicit text_stream(std::shared_ptr<const token_pieces> pieces);

  /// The text that became certain with this token: whole UTF-8 characters, possibly none. Bytes
  /// that can be part of no character become U+FFFD, one for each maximal broken sequence. An id
  /// outside the vocabulary adds nothing.
  std::string push(std::int32_t token);

  /// The end of the text: U+FFFD if it stopped inside a character.
  std::string flush();

private:
  std::string take_whole_characters();

  std::shared_ptr<const token_pieces> pieces_;
  std::uint32_t strips_left_;
  std::string held_; ///< the beginning of a character, at most 3 bytes between calls
};

class tokenizer {
public:
  virtual ~tokenizer() = default;

  /// Ids of a prompt, with what the model expects around it (such as a BOS token). Special tokens
  /// that are spelled out in the text become their ids. Fails with bad_input where the text is not
  /// UTF-8 and the vocabulary needs it to be.
  virtual protocol::outcome<std::vector<std::int32_t>> encode(const std::string& text) const = 0;

  /// The text of a whole sequence, without special tokens.
  std::string decode(const std::vector<std::int32_t>& tokens) const;

  /// A stream that begins a text. To continue a prompt, push its tokens first and drop their text:
  /// a first word of its own would lose its space.
  text_stream stream() const { return text_stream(pieces_); }

  /// Ids that end an answer, ascending; empty when the folder names none.
  const std::vector<std::int32_t>& eos() const { return eos_; }

  /// XXH3-128 of what decides the meaning of an id: 32 hexadecimal digits.
  const std::string& digest() const { return digest_; }

protected:
  tokenizer(token_pieces pieces, std::vector<std::int32_t> eos, std::string digest);

private:
  std::shared_ptr<const token_pieces> pieces_;
  std::vector<std::int32_t> eos_;
  std::string digest_;
};

/// The tokenizer of a model folder: its tokenizer.json; or, where there is none and vocab_size is
/// 256, bytes. Errors name file, field and reason: not_found, bad_input (malformed, or an id that
/// the model does not have), unsupported (a component that is understood but not offered here).
protocol::outcome<std::shared_ptr<const tokenizer>> open_tokenizer(const std::string& folder,
                                                                   std::uint32_t vocab_size);

} // namespace baton::gpu
