#include "gpu/tokenizer_utf8.hpp"

namespace baton::gpu {

namespace {

/// The bytes that may follow a lead byte: how many, and the range of the first of them. The range
/// rules out overlong forms, surrogates and what lies above U+10FFFF.
struct continuation {
  std::size_t count = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

continuation after_lead(unsigned char lead) {
  if (lead >= 0xC2 && lead <= 0xDF)
    return {1, 0x80, 0xBF};
  if (lead >= 0xE0 && lead <= 0xEF)
    return {2, static_cast<unsigned char>(lead == 0xE0 ? 0xA0 : 0x80),
            static_cast<unsigned char>(lead == 0xED ? 0x9F : 0xBF)};
  if (lead >= 0xF0 && lead <= 0xF4)
    return {3, static_cast<unsigned char>(lead == 0xF0 ? 0x90 : 0x80),
            static_cast<unsigned char>(lead == 0xF4 ? 0x8F : 0xBF)};
  return {};
}

} // namespace

utf8_piece first_utf8(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80)
    return {1, utf8_kind::whole};
  auto expected = after_lead(lead);
  if (expected.count == 0)
    return {1, utf8_kind::broken};
  for (std::size_t i = 1; i <= expected.count; ++i) {
    if (i == text.size())
      return {i, utf8_kind::cut};
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < expected.low || byte > expected.high)
      return {i, utf8_kind::broken};
    expected.low = 0x80;
    expected.high = 0xBF;
  }
  return {expected.count + 1, utf8_kind::whole};
}

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto piece = first_utf8(text.substr(at));
    if (piece.kind != utf8_kind::whole)
      return at;
    at += piece.bytes;
  }
  return std::string_view::npos;
}

} // namespace baton::gpu
