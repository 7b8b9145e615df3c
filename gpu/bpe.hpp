// Byte pair encoding: splits a word into symbols and joins neighbours, best-ranked pair first.
#pragma once

#include "protocol/outcome.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace baton::gpu {

/// What the symbols of a word are before the first merge.
enum class bpe_alphabet {
  bytes,      ///< each byte, spelled as one printable character (GPT-2, Llama 3, Qwen)
  characters, ///< each character; unknown ones as bytes <0xNN> if those exist (SentencePiece)
};

struct bpe_settings {
  bpe_alphabet alphabet = bpe_alphabet::bytes;
  bool byte_fallback = false; ///< characters: spell unknown ones as <0xNN>
  bool ignore_merges = false; ///< a word that is in the vocabulary is taken whole
  bool fuse_unknown = false;  ///< neighbouring unknown characters become one unknown token
  std::optional<std::int32_t> unknown; ///< not set: unknown characters vanish
};

using bpe_vocabulary = std::unordered_map<std::string, std::int32_t>;

class bpe {
public:
  /// `merges` in rank order. Fails with bad_input, naming the entry, when a merge's parts or result
  /// are not in the vocabulary, or a byte of the byte alphabet is not.
  static protocol::outcome<bpe> build(
    bpe_vocabulary vocabulary, const std::vector<std::pair<std::string, std::string>>& merges,
    bpe_settings settings);

  /// Appends the ids of one word of valid UTF-8.
  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const;

  const bpe_vocabulary& vocabulary() const { return vocabulary_; }

private:
  struct merge {
    std::uint32_t rank = 0;
    std::int32_t result = 0;
  };
  /// A symbol of the word under work, in a doubly linked list over a vector.
  struct symbol {
    std::int32_t id = 0; ///< -1: merged into its left neighbour
    std::int32_t left = -1;
    std::int32_t right = -1;
  };
  /// A merge that was possible when it was noted; lowest rank first, then leftmost.
  struct candidate {
    merge what;
    std::int32_t at = 0;
    friend bool operator<(const candidate& a, const candidate& b) {
      return a.what.rank != b.what.rank ? a.what.rank > b.what.rank : a.at > b.at;
    }
  };

  bpe() = default;
  bool append_whole(std::string_view word, std::vector<std::int32_t>& ids) const;
  std::vector<symbol> split(std::string_view word) const;
  void append_character(std::string_view character, std::vector<symbol>& symbols) const;
  const merge* find_merge(const std::vector<symbol>& symbols, std::int32_t at) const;
  void join(std::vector<symbol>& symbols) const;

  bpe_settings settings_;
  bpe_vocabulary vocabulary_;
  std::unordered_map<std::uint64_t, merge> merges_; ///< by (left id, right id)
  /// Ids of single bytes; -1 where the character alphabet has none.
  std::array<std::int32_t, 256> byte_ids_{};
};

/// The printable character, in UTF-8, that stands for a byte in byte-level vocabularies: itself
/// where it is printable Latin-1, or else the next free one from U+0100 on.
std::string byte_symbol(std::uint8_t byte);

/// The bytes that a token of a byte-level vocabulary stands for. A token with a character that
/// stands for no byte stands for itself.
std::string bytes_of_symbols(std::string_view token);

/// "<0x0A>" for byte 10.
std::string fallback_symbol(std::uint8_t byte);
/// The reverse; not set when the token is no such symbol.
std::optional<std::uint8_t> byte_of_fallback(std::string_view token);

} // namespace baton::gpu
