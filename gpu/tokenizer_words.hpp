// Pre-tokenizers: cuts text into words with regular expressions (PCRE2, compiled to machine code).
#pragma once

#include "protocol/outcome.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace baton::gpu {

/// What a split keeps of the text.
enum class split_keeps {
  everything, ///< each match is a word, and so is what lies between two matches
  matches,    ///< what lies between two matches is dropped
};

class word_splitter {
public:
  word_splitter();
  ~word_splitter();
  word_splitter(word_splitter&&) noexcept;
  word_splitter& operator=(word_splitter&&) noexcept;

  /// Adds a split, which is applied to each word of those before it. The pattern is read as the
  /// reference implementation does: \s and \S mean Unicode's White_Space property. Fails with
  /// unsupported, with the compiler's message, when PCRE2 does not take it.
  protocol::failure add(const std::string& pattern, split_keeps keeps);

  /// The words of valid UTF-8 text, in order. The views point into `text`. Without any split the
  /// text is one word. Fails with out_of_range where a match needs more than its memory limit.
  protocol::outcome<std::vector<std::string_view>> split(std::string_view text) const;

private:
  struct step;
  std::vector<step> steps_;
};

/// The pattern with \s and \S replaced by the White_Space property: PCRE2's own \s also takes
/// U+180E, which Unicode has not counted as white space since version 6.3.
std::string with_unicode_spaces(const std::string& pattern);

/// The same text as a pattern that matches just it.
std::string quoted_pattern(const std::string& text);

} // namespace baton::gpu
