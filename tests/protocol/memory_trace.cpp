#include "tests/protocol/memory_trace.hpp"

#include <map>

namespace baton::tests {

using namespace protocol;

/// Through its line and back, so that a test sees what a file would keep of it.
outcome<trace_record> memory_trace::record(std::size_t index) const {
  return record_from_line(to_line(records.at(index)));
}

void memory_trace::index() {
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> actors;
  keys_.clear();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const trace_record& r = records[i];
    const auto number = static_cast<std::uint32_t>(actors.size());
    const auto actor = actors.try_emplace({section_of[i], r.actor}, number).first->second;
    keys_.push_back({r.header.id, r.header.cause, r.begin_ns, section_of[i], actor});
  }
}

std::size_t memory_trace::find(const std::string& machine, const std::string& message,
                               std::size_t n) const {
  for (std::size_t i = 0; i < records.size(); ++i)
    if (records[i].machine == machine && records[i].message == message && n-- == 0)
      return i;
  return records.size(); // .at() of it fails the test
}

void memory_trace::insert_copy(std::size_t index, std::size_t after,
                               const std::function<void(trace_record&)>& edit) {
  trace_record copy = records.at(index);
  copy.header.id += 1'000'000;
  copy.begin_ns = records.at(after).begin_ns + 1;
  edit(copy);
  const auto at = static_cast<std::ptrdiff_t>(after) + 1;
  const std::uint32_t section = section_of.at(index);
  records.insert(records.begin() + at, std::move(copy));
  section_of.insert(section_of.begin() + at, section);
  this->index();
}

void memory_trace::erase(std::size_t index) {
  const auto at = static_cast<std::ptrdiff_t>(index);
  records.erase(records.begin() + at);
  section_of.erase(section_of.begin() + at);
  this->index();
}

} // namespace baton::tests
