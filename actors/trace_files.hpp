// The trace of a run: every *.trace.jsonl of its directory, mapped and indexed. Only the keys of
// the records are held in memory; a record is parsed when it is asked for.
#pragma once

#include "protocol/trace_source.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace baton::actors {

/// What the reader knows of the nodes whose files have no end line.
enum class node_state : std::uint8_t {
  unknown,       ///< perhaps killed: what is missing at a file's end proves nothing
  idle_and_flushed ///< running, with everything written
};

class trace_files final : public protocol::trace_source {
public:
  /// bad_input names the directory or file (and line) and the reason.
  static protocol::outcome<std::unique_ptr<trace_files>> open(const std::string& directory,
                                                              node_state nodes);
  ~trace_files() override;
  trace_files(const trace_files&) = delete;
  trace_files& operator=(const trace_files&) = delete;

  const std::vector<protocol::trace_section>& sections() const override { return sections_; }
  const std::vector<protocol::trace_key>& keys() const override { return keys_; }
  protocol::outcome<protocol::trace_record> record(std::size_t index) const override;

  /// A record's line as written, for searching without parsing.
  std::string_view line(std::size_t index) const;

  /// Torn last lines, which were skipped: "file:line: reason".
  const std::vector<std::string>& torn() const { return torn_; }
  /// Lines elsewhere that cannot be read: "file:line: reason".
  const std::vector<std::string>& broken() const { return broken_; }
  /// Records that an end line counts and that are not here: "file:line: reason".
  const std::vector<std::string>& missing() const { return missing_; }

private:
  struct mapping {
    std::string name;
    const char* data = nullptr;
    std::size_t size = 0;
  };
  struct place {
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t file = 0;
  };

  trace_files() = default;
  protocol::failure map(const std::string& path);
  protocol::failure index(std::uint32_t file, node_state nodes);
  protocol::failure add_line(std::uint32_t file, std::uint64_t offset, std::string_view text);
  void add_record(std::uint32_t file, std::uint64_t offset, std::string_view text,
                  protocol::trace_key key, std::string_view actor);
  std::string where(std::uint32_t file, std::uint64_t offset) const;

  std::vector<mapping> files_;
  std::vector<protocol::trace_section> sections_;
  std::vector<protocol::trace_key> keys_;
  std::vector<place> places_;
  std::vector<std::string> torn_;
  std::vector<std::string> broken_;
  std::vector<std::string> missing_;
  std::unordered_map<std::string, std::uint32_t> actors_of_section_; ///< of the last section
  std::size_t first_key_of_section_ = 0;                        ///< of the last section
  std::uint32_t actors_ = 0;
};

} // namespace baton::actors
