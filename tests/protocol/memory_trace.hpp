// A trace that tests can build and break.
#pragma once

#include "protocol/trace_source.hpp"

#include <functional>
#include <string>
#include <vector>

namespace baton::tests {

/// A trace in memory. `records[i]` belongs to `section_of[i]`; edits are seen by whoever reads it.
class memory_trace final : public protocol::trace_source {
public:
  std::vector<protocol::trace_section> all_sections;
  std::vector<protocol::trace_record> records;
  std::vector<std::uint32_t> section_of;

  const std::vector<protocol::trace_section>& sections() const override { return all_sections; }
  const std::vector<protocol::trace_key>& keys() const override { return keys_; }
  protocol::outcome<protocol::trace_record> record(std::size_t index) const override;

  /// Call after an edit.
  void index();
  /// Number of the n-th record (from 0) of that machine and message.
  std::size_t find(const std::string& machine, const std::string& message, std::size_t n = 0) const;
  /// Puts a copy of record `index`, as `edit` changes it, behind record `after` of its section.
  void insert_copy(std::size_t index, std::size_t after,
                   const std::function<void(protocol::trace_record&)>& edit);
  void erase(std::size_t index);

private:
  std::vector<protocol::trace_key> keys_;
};

} // namespace baton::tests
