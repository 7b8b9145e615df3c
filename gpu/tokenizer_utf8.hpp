// UTF-8 as the decoder sees it: one character, or the longest beginning of one, at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace baton::gpu {

enum class utf8_kind {
  whole,  ///< a character
  broken, ///< bytes that cannot begin any character: replaced by one U+FFFD
  cut,    ///< the beginning of a character; the rest is not there (yet)
};

struct utf8_piece {
  std::size_t bytes = 0;
  utf8_kind kind = utf8_kind::whole;
};

/// The first piece of a text that is not empty. A broken piece is the longest sequence that began
/// like a character (Unicode 15, table 3-7; "maximal subpart" in chapter 3.9).
utf8_piece first_utf8(std::string_view text);

/// Offset of the first byte that belongs to no character, or npos.
std::size_t find_invalid_utf8(std::string_view text);

} // namespace baton::gpu
