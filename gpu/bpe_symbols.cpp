// How byte-level and SentencePiece vocabularies spell bytes.
#include "gpu/bpe.hpp"
#include "gpu/tokenizer_utf8.hpp"

#include <array>
#include <cstdio>

namespace baton::gpu {

namespace {

bool is_printable_latin1(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// Code points up to U+07FF, which is all that a byte symbol needs.
std::string short_utf8(unsigned code_point) {
  if (code_point < 0x80)
    return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3F))};
}

std::array<std::string, 256> make_byte_symbols() {
  std::array<std::string, 256> symbols;
  unsigned next_free = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte)
    symbols[byte] = short_utf8(is_printable_latin1(byte) ? byte : next_free++);
  return symbols;
}

const std::array<std::string, 256>& byte_symbols() {
  static const auto symbols = make_byte_symbols();
  return symbols;
}

const std::unordered_map<std::string, char>& bytes_by_symbol() {
  static const auto bytes = [] {
    std::unordered_map<std::string, char> map;
    for (unsigned byte = 0; byte < 256; ++byte)
      map.emplace(byte_symbols()[byte], static_cast<char>(byte));
    return map;
  }();
  return bytes;
}

} // namespace

std::string byte_symbol(std::uint8_t byte) {
  return byte_symbols()[byte];
}

std::string bytes_of_symbols(std::string_view token) {
  std::string bytes;
  for (auto rest = token; !rest.empty();) {
    const auto size = first_utf8(rest).bytes;
    const auto found = bytes_by_symbol().find(std::string(rest.substr(0, size)));
    if (found == bytes_by_symbol().end())
      return std::string(token);
    bytes += found->second;
    rest.remove_prefix(size);
  }
  return bytes;
}

std::string fallback_symbol(std::uint8_t byte) {
  char text[8];
  std::snprintf(text, sizeof text, "<0x%02X>", byte);
  return text;
}

std::optional<std::uint8_t> byte_of_fallback(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token[5] != '>')
    return std::nullopt;
  unsigned value = 0;
  for (const char c : token.substr(3, 2)) {
    const auto digit = std::string_view("0123456789ABCDEF").find(c & ~(c >= 'a' ? 0x20 : 0));
    if (digit == std::string_view::npos)
      return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return static_cast<std::uint8_t>(value);
}

} // namespace baton::gpu
