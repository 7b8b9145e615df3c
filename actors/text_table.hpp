// Rows of words in columns, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace baton::actors {

enum class side : std::uint8_t { left, right };
using row = std::vector<std::string>;

/// Columns two blanks apart, each as wide as its widest cell (UTF-8 characters are counted); blanks
/// at the end of a line are cut. Every row has at most as many cells as there are sides.
std::string table_text(const std::vector<side>& sides, const std::vector<row>& rows);

} // namespace baton::actors
