// What a line of a trace file may be. A file holds one section per life of its node: a header, its
// records, and, if the node ended in order, an end line.
//
//   {"trace":1,"node":"D3.0","life":"…"}     header
//   {"id":"…","cause":"…","from":"router:attempt/…", … }   record
//   {"lost":12}                              the writer fell behind: so many records are missing
//   {"end":4711}                             closed in order, after so many records
#pragma once

#include "protocol/trace_record.hpp"

#include <variant>

namespace baton::protocol {

/// Records that the node could not keep, at this place of its file.
struct trace_loss {
  std::uint64_t records = 0;
};

/// Last line of a section that was closed in order.
struct trace_end {
  std::uint64_t records = 0; ///< written in this section
};

using trace_line = std::variant<trace_header, trace_record, trace_loss, trace_end>;

/// Any line, without its newline. bad_input names the field or where the JSON breaks off.
outcome<trace_line> parse_line(const std::string& line);

std::string to_line(const trace_loss& loss);
std::string to_line(const trace_end& end);

/// A message's id as it stands in traces: 16 hexadecimal digits.
std::string message_id_text(std::uint64_t id);

/// "D3.0" of "D3.0:reservation/5".
std::string node_of_sender(const std::string& sender);

} // namespace baton::protocol
