#include "actors/text_table.hpp"

#include <algorithm>

namespace baton::actors {

namespace {

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; // UTF-8: count first bytes only
  }));
}

} // namespace

std::string table_text(const std::vector<side>& sides, const std::vector<row>& rows) {
  std::vector<std::size_t> widths(sides.size());
  for (const auto& r : rows)
    for (std::size_t c = 0; c < r.size(); ++c)
      widths[c] = std::max(widths[c], width_of(r[c]));
  std::string text;
  for (const auto& r : rows) {
    std::string line;
    for (std::size_t c = 0; c < r.size(); ++c) {
      const std::string pad(widths[c] - width_of(r[c]), ' ');
      line += (c > 0 ? "  " : "") + (sides[c] == side::left ? r[c] + pad : pad + r[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

} // namespace baton::actors
