// What happens to a prompt before words are cut: added tokens are found, the rest is normalized.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace baton::gpu {

/// Unicode normalization form C.
struct normalize_nfc {};
/// Puts a text before every text that is not empty.
struct normalize_prepend {
  std::string text;
};
/// Replaces each occurrence of one string.
struct normalize_replace {
  std::string from; ///< not empty
  std::string to;
};
using normalizer_step = std::variant<normalize_nfc, normalize_prepend, normalize_replace>;

/// Applies the steps in order to valid UTF-8.
std::string normalize(const std::vector<normalizer_step>& steps, std::string_view text);

/// Replaces each occurrence of `from` (not empty), left to right.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

/// A token that is found in the text itself. The flags are those of tokenizer.json.
struct added_token {
  std::int32_t id = 0;
  std::string content;
  bool special = false;     ///< never shown
  bool single_word = false; ///< only where no letter or digit touches it
  bool lstrip = false;      ///< takes the white space before it
  bool rstrip = false;      ///< takes the white space behind it
  bool normalized = false;  ///< looked for after normalization, in its normalized form
};

/// A stretch of text between added tokens (id -1), or an added token.
struct text_part {
  std::string_view text;
  std::int32_t id = -1;
};

/// Finds added tokens: the leftmost, of those the longest.
class added_token_finder {
public:
  explicit added_token_finder(std::vector<added_token> tokens);

  /// The parts of valid UTF-8 text, in order; none is empty text. The views point into `text`.
  std::vector<text_part> split(std::string_view text) const;

private:
  const added_token* at(std::string_view text) const;

  std::vector<added_token> tokens_; ///< longest first
  bool starts_[256] = {};           ///< by first byte: some token begins with it
};

} // namespace baton::gpu
