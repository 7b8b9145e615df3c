// A simulated run as the trace that its nodes would have written: `baton trace` reads it, and the
// trace checker judges it. What the checker is told is what messages say; the simulator's own
// checks look at devices. Two judges that share no code, over the same run.
#pragma once

#include "protocol/trace_check.hpp"
#include "tests/sim/tape.hpp"

namespace baton::sim {

/// A trace in memory: one section for each life of each node, by the node's name, then by life.
class recording final : public protocol::trace_source {
public:
  /// A run that broke off has no ends to judge.
  protocol::trace_extent extent = protocol::trace_extent::whole;

  recording() = default;
  recording(recording&&) = default; ///< keys point into it: never copied
  recording& operator=(recording&&) = default;

  /// Number of the section.
  std::size_t open(protocol::trace_header header);
  /// How the section ends that has not ended yet.
  void close(std::size_t section, protocol::section_end end);
  void add(std::size_t section, protocol::trace_record record);
  /// Numbers records and actors; sections() and keys() are of the last call.
  void index();

  const std::vector<protocol::trace_section>& sections() const override { return sections_; }
  const std::vector<protocol::trace_key>& keys() const override { return keys_; }
  protocol::outcome<protocol::trace_record> record(std::size_t index) const override {
    return *records_.at(index);
  }

private:
  struct life {
    protocol::trace_section section;
    std::vector<protocol::trace_record> records;
  };
  std::vector<life> lives_;
  std::vector<protocol::trace_section> sections_;
  std::vector<protocol::trace_key> keys_;
  std::vector<const protocol::trace_record*> records_; ///< by key
};

/// Runs the tape, or the seed.
recording recorded(const tape& t);
recording recorded(const run_frame& frame, std::uint64_t seed);

/// One `<node>.trace.jsonl` for each node, in a directory that is created where it is missing. ""
/// or what went wrong; a directory with a trace in it is left alone.
std::string write(const recording& r, const std::string& directory);

/// What the trace checker says of a run, beside what the simulator says: a line for each
/// violation, "trace I12: …"; "" for none.
std::string trace_verdict(const recording& r);

} // namespace baton::sim
