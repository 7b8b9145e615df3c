#include "actors/trace_recorder.hpp"

#include "protocol/limits.hpp"
#include "protocol/trace_line.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace baton;
using namespace baton::protocol;

namespace {

/// A folder of its own, removed with its one file at the end.
struct scratch {
  scratch() {
    char name[] = "/tmp/baton_recorder_XXXXXX";
    folder = ::mkdtemp(name);
    path = folder + "/D3.0.trace.jsonl";
  }
  ~scratch() {
    std::remove(path.c_str());
    std::remove(folder.c_str());
  }
  std::string folder;
  std::string path;
};

trace_header header() { return {trace_version, {"D3.0"}, {7, 8}, "two groups", 1'700'000'000'000}; }

trace_record record(std::uint64_t id) {
  trace_record r;
  r.header = {id, id - 1, "router:attempt/\"1\"", 90};
  r.actor = "reservation/5";
  r.machine = "reservation";
  r.message = "lane_opened";
  r.before = r.after = "reserved";
  r.effects = {"open_lane", "arm_lease"};
  r.request = {1, 2};
  r.attempt = 3;
  r.begin_ns = 100;
  r.end_ns = 120;
  return r;
}

std::vector<trace_line> lines_of(const std::string& path) {
  std::vector<trace_line> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    auto parsed = parse_line(line);
    REQUIRE_MESSAGE(parsed.ok(), line);
    lines.push_back(parsed.value());
  }
  return lines;
}

std::unique_ptr<actors::trace_recorder> opened(const std::string& path) {
  auto recorder = actors::trace_recorder::open(path, header());
  REQUIRE(recorder.ok());
  return std::move(recorder.value());
}

} // namespace

TEST_CASE("a recorder writes a header, its records in order and an end line") {
  scratch s;
  {
    auto recorder = opened(s.path);
    for (std::uint64_t id = 1; id <= 1000; ++id)
      recorder->record(record(id), [id] { return json{{"number", id}}; });
  }
  const auto lines = lines_of(s.path);
  REQUIRE(lines.size() == 1002);
  CHECK(std::get<trace_header>(lines[0]) == header());
  for (std::uint64_t id = 1; id <= 1000; ++id) {
    const auto& read = std::get<trace_record>(lines[id]);
    CHECK(read.header == record(id).header);
    CHECK(read.event == json{{"number", id}});
    CHECK(read.effects == record(id).effects);
    CHECK(read.request == request_id{1, 2});
    CHECK(read.wait_ns() == 10);
  }
  CHECK(std::get<trace_end>(lines[1001]).records == 1000);
}

TEST_CASE("flush returns when what was recorded is in the file") {
  scratch s;
  auto recorder = opened(s.path);
  recorder->record(record(1), [] { return json::object(); });
  recorder->flush();
  CHECK(lines_of(s.path).size() == 2);
}

TEST_CASE("a recorder that falls behind writes how many records are missing, and where") {
  scratch s;
  const std::uint64_t extra = 5;
  std::promise<void> entered;
  std::promise<void> gate;
  {
    auto recorder = opened(s.path);
    recorder->record(record(1), [&] {
      entered.set_value();
      gate.get_future().wait();
      return json::object();
    });
    entered.get_future().wait(); // the writer holds the first record and nothing else
    for (std::uint64_t n = 1; n < limits::trace_records_unwritten_max + extra; ++n)
      recorder->record(record(n + 1), nullptr);
    gate.set_value();
    recorder->flush();
    recorder->record(record(1'000'000), nullptr);
  }
  const auto lines = lines_of(s.path);
  REQUIRE(lines.size() == limits::trace_records_unwritten_max + 4);
  CHECK(std::get<trace_loss>(lines[lines.size() - 3]).records == extra);
  CHECK(std::get<trace_record>(lines[lines.size() - 2]).header.id == 1'000'000);
}

TEST_CASE("what a full disk swallows is counted, and no line is torn") {
  scratch s;
  std::signal(SIGXFSZ, SIG_IGN);
  {
    auto recorder = actors::trace_recorder::open(s.path, header());
    REQUIRE(recorder.ok());
    rlimit whole{};
    ::getrlimit(RLIMIT_FSIZE, &whole);
    rlimit full = whole;
    full.rlim_cur = std::filesystem::file_size(s.path) + 100; // less than a line
    ::setrlimit(RLIMIT_FSIZE, &full);
    for (std::uint64_t id = 1; id <= 5; ++id)
      recorder.value()->record(record(id), {});
    recorder.value()->flush();
    ::setrlimit(RLIMIT_FSIZE, &whole);
    recorder.value()->record(record(6), {});
  }
  const auto lines = lines_of(s.path);
  REQUIRE(lines.size() == 4);
  CHECK(std::get<trace_loss>(lines[1]).records == 5);
  CHECK(std::get<trace_record>(lines[2]).header.id == 6);
  CHECK(std::get<trace_end>(lines[3]).records == 1);
}

TEST_CASE("a recorder that is left open writes no end line") {
  scratch s;
  {
    auto recorder = actors::trace_recorder::open(s.path, header());
    REQUIRE(recorder.ok());
    recorder.value()->record(record(1), {});
    recorder.value()->leave_open();
  }
  CHECK(lines_of(s.path).size() == 2);
}

TEST_CASE("records of several threads all arrive, each thread's in its order") {
  scratch s;
  {
    auto recorder = opened(s.path);
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 3; ++t)
      threads.emplace_back([&, t] {
        for (std::uint64_t i = 1; i <= 500; ++i)
          recorder->record(record(t * 1000 + i), nullptr);
      });
    for (auto& t : threads)
      t.join();
  }
  std::vector<std::uint64_t> last(3, 0);
  for (const auto& line : lines_of(s.path))
    if (const auto* r = std::get_if<trace_record>(&line)) {
      auto& before = last[r->header.id / 1000];
      CHECK(r->header.id % 1000 == before + 1);
      before = r->header.id % 1000;
    }
  CHECK(last == std::vector<std::uint64_t>{500, 500, 500});
}

TEST_CASE("a node that starts again adds a section and keeps what a killed life has written") {
  scratch s;
  opened(s.path)->record(record(1), nullptr);
  {
    std::ofstream torn(s.path, std::ios::app);
    torn << "{\"id\":\"00";
  }
  opened(s.path)->record(record(2), nullptr);
  std::ifstream file(s.path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  REQUIRE(lines.size() == 7);
  CHECK_FALSE(parse_line(lines[3]).ok());
  CHECK(header_from_line(lines[4]).ok());
  CHECK(record_from_line(lines[5]).value().header.id == 2);
}

TEST_CASE("a path that cannot be opened is an error with the path and the reason") {
  const auto recorder = actors::trace_recorder::open("/nonexistent/x.trace.jsonl", header());
  REQUIRE_FALSE(recorder.ok());
  CHECK(recorder.error().text.find("/nonexistent/x.trace.jsonl") != std::string::npos);
  CHECK(recorder.error().text.find("No such file") != std::string::npos);
}
