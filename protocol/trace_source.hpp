// A trace as the tools see it: sections of records, addressed by number, so that ten million
// records can be ordered and checked while only their keys (32 bytes each) are held in memory.
#pragma once

#include "protocol/trace_record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton::protocol {

/// How a section ends. `cut`: without its end line, so its last records may be missing. `flushed`:
/// its node still runs and has written everything, as whoever reads it knows.
enum class section_end : std::uint8_t { closed, flushed, cut };

/// One life of one node.
struct trace_section {
  std::string file; ///< name, for messages
  trace_header header;
  section_end end = section_end::cut;
  std::uint64_t lost = 0;                ///< records that its writer could not keep
  std::optional<std::size_t> first_gap;  ///< number of the first record after a loss

  /// Evidence that is not here may have existed.
  bool incomplete() const { return end == section_end::cut || lost > 0; }
};

/// What order and causes need to know of a record.
struct trace_key {
  std::uint64_t id = 0;
  std::uint64_t cause = 0;
  std::int64_t begin_ns = 0;
  std::uint32_t section = 0;
  std::uint32_t actor = 0; ///< numbers the actors of all sections
};

class trace_source {
public:
  virtual ~trace_source() = default;

  virtual const std::vector<trace_section>& sections() const = 0;

  /// One for each record: section by section, in file order.
  virtual const std::vector<trace_key>& keys() const = 0;

  /// The whole record of keys()[index]; bad_input names file, line and reason.
  virtual outcome<trace_record> record(std::size_t index) const = 0;
};

} // namespace baton::protocol
