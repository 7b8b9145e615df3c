#include "tests/sim/recording.hpp"

#include "protocol/trace_line.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace baton;
using namespace baton::sim;

namespace {

/// Draws shapes, requests and orders, but no fault.
class quiet_choices : public choices {
public:
  explicit quiet_choices(std::uint64_t seed) : random_(seed) {}

  std::uint32_t pick(std::uint32_t bound, const char* what) override {
    static const std::set<std::string> faults{"losses",     "copies", "crashes",
                                              "cancels",    "spoils", "expiries",
                                              "impatience", "overtaking", "local queues"};
    return faults.count(what) > 0 ? 0 : random_.below(bound);
  }

private:
  prng random_;
};

tape quiet_tape(std::uint64_t seed) {
  quiet_choices quiet(seed);
  recording_choices written(quiet);
  const run_result run = simulate(*find_frame("small"), written);
  CHECK_MESSAGE(run.broken.empty(), run.broken);
  return {"small", written.tape(), "quiet"};
}

class scratch_directory {
public:
  scratch_directory()
    : path((std::filesystem::temp_directory_path()
            / ("baton-recording-" + std::to_string(::getpid())))
             .string()) {}
  ~scratch_directory() { std::filesystem::remove_all(path); }

  const std::string path;
};

} // namespace

TEST_CASE("the trace checker finds nothing in 300 quiet runs, and replays every machine of them") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const std::string said = trace_verdict(recorded(quiet_tape(seed)));
    REQUIRE_MESSAGE(said.empty(), said);
  }
}

TEST_CASE("every recorded run passes the trace check, whatever faults it has") {
  const auto judge = [](const char* name, std::uint64_t seeds) {
    const run_frame& frame = *find_frame(name);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const std::string said = trace_verdict(recorded(frame, seed));
      CHECK_MESSAGE(said.empty(), "seed ", seed, " of ", frame.name, ": ", said);
    }
  };
  judge("small", 500);
  judge("retry", 500);
  judge("mapped", 500);
  judge("middle", 50);
}

TEST_CASE("a recording has a record for each step, an outcome for each request, and whole ends") {
  const recording r = recorded(quiet_tape(7));
  CHECK(r.extent == protocol::trace_extent::whole);
  const auto report = protocol::check_trace(r, r.extent);
  CHECK(report.ok());
  CHECK(report.notes.empty());
  CHECK(report.requests > 0);
  std::set<std::string> machines;
  std::size_t outcomes = 0;
  std::set<std::uint64_t> ids;
  for (std::size_t i = 0; i < r.keys().size(); ++i) {
    const auto record = r.record(i).value();
    machines.insert(record.machine);
    outcomes += record.machine.empty() && record.message == "request_ended" ? 1 : 0;
    CHECK(ids.insert(record.header.id).second);
    CHECK(record.header.id != record.header.cause);
  }
  CHECK(machines == std::set<std::string>{"", "attempt", "feed", "lane", "pool", "request",
                                          "reservation", "source_hold"});
  CHECK(outcomes == report.requests);
}

TEST_CASE("a recording is written as one file for each node and reads back as it was") {
  const scratch_directory scratch;
  const recording r = recorded(quiet_tape(7));
  REQUIRE(write(r, scratch.path) == "");
  std::size_t at = 0;
  for (const auto& section : r.sections()) {
    std::ifstream in(scratch.path + "/" + section.file);
    std::string line;
    REQUIRE(std::getline(in, line));
    CHECK(line == to_line(section.header));
    std::uint64_t records = 0;
    while (std::getline(in, line) && line.rfind("{\"end\"", 0) != 0) {
      const auto read = protocol::record_from_line(line);
      REQUIRE_MESSAGE(read, read.error().text);
      CHECK(to_line(read.value()) == to_line(r.record(at).value()));
      ++at;
      ++records;
    }
    CHECK(line == to_line(protocol::trace_end{records}));
  }
  CHECK(at == r.keys().size());
  CHECK(write(r, scratch.path).find("there is a trace in it already") != std::string::npos);
}
