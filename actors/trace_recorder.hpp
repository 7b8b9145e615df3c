// Writes a node's trace off the hot path: actors hand over records, a thread of its own turns them
// into lines. Bounded: when the writer falls behind or the disk is full, records are counted as
// lost and the count is written as soon as it can be, so that a gap is never silent.
#pragma once

#include "protocol/outcome.hpp"
#include "protocol/trace_record.hpp"

#include <functional>
#include <memory>
#include <string>

namespace baton::actors {

class trace_recorder {
public:
  /// Creates the file and writes its header. bad_input names the path and the reason.
  static protocol::outcome<std::unique_ptr<trace_recorder>>
  open(const std::string& path, const protocol::trace_header& header);

  virtual ~trace_recorder() = default; ///< writes everything out first

  /// Any thread; never blocks on the file. `event` is called on the writer's thread; the record's
  /// own `event` member is ignored.
  virtual void record(protocol::trace_record record, std::function<protocol::json()> event) = 0;

  /// Returns when everything recorded before the call is in the file (bounded: 5 s).
  virtual void flush() = 0;

  /// The file shall have no end line: its owner knows that it was cut off from what it waited for.
  virtual void leave_open() = 0;
};

} // namespace baton::actors
