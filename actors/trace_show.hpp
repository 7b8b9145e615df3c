// One request's messages as an indented chart in causal order.
#pragma once

#include "actors/trace_files.hpp"

#include <ostream>

namespace baton::actors {

/// Which of a request's messages are printed.
enum class chart_extent : std::uint8_t { folded, all };

/// `wanted`: an external id, or the hexadecimal id of a request or its beginning. Of several
/// requests of one external id, each is shown. not_found says what there is instead; bad_input when
/// a prefix fits more than one; that of the first line of the chart that cannot be read, when all
/// the others have been printed. `folded`: long runs of tokens and pieces are counted.
protocol::failure show_request(const trace_files& files, const std::string& wanted,
                               chart_extent extent, std::ostream& out);

} // namespace baton::actors
