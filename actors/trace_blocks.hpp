// Who owned the blocks of a pool when, as strips in a terminal and as JSON.
#pragma once

#include "actors/trace_files.hpp"
#include "protocol/trace_ledger.hpp"

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

namespace baton::actors {

/// "D3" or "D3:17".
struct block_choice {
  std::string group;
  std::optional<std::uint32_t> block;
};
/// bad_input when what follows the colon is no number.
protocol::outcome<block_choice> parse_block_choice(const std::string& text);

/// Rows of neighbours that look alike are one; past a screenful they are counted, or printed, too.
enum class strip_extent : std::uint8_t { screenful, all };

/// Each reads the whole trace and prints every life of the group's pool. not_found names the groups
/// that are there, out_of_range the blocks; bad_input: records could not be read.
protocol::failure print_blocks(const trace_files& files, const block_choice& choice,
                               strip_extent extent, std::ostream& out);
protocol::failure print_blocks_json(const trace_files& files, const block_choice& choice,
                                    std::ostream& out);

} // namespace baton::actors
