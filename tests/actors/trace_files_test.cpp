#include "actors/trace_command.hpp"
#include "actors/trace_files.hpp"
#include "actors/trace_show.hpp"
#include "actors/trace_stats.hpp"

#include "protocol/trace_line.hpp"
#include "tests/protocol/trace_cluster.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/stat.h>

using namespace baton;
using namespace baton::actors;
using namespace baton::tests;

namespace {

constexpr const char* cluster_text = R"({"name": "little", "executor": {"kind": "synthetic"},
  "groups": [{"name": "P0", "role": "prefill", "ranks": 2, "pool_blocks": 4},
             {"name": "D0", "role": "decode", "ranks": 2, "pool_blocks": 6}]})";

/// A run directory made of a trace in memory.
class run_directory {
public:
  explicit run_directory(const memory_trace& trace) {
    char name[] = "/tmp/baton_trace_XXXXXX";
    path_ = ::mkdtemp(name);
    texts_["cluster.json"] = cluster_text;
    for (std::uint32_t s = 0; s < trace.all_sections.size(); ++s) {
      auto& text = texts_[trace.all_sections[s].file];
      text = protocol::to_line(trace.all_sections[s].header) + "\n";
      std::uint64_t records = 0;
      for (std::size_t i = 0; i < trace.records.size(); ++i)
        if (trace.section_of[i] == s) {
          text += protocol::to_line(trace.records[i]) + "\n";
          ++records;
        }
      text += protocol::to_line(protocol::trace_end{records}) + "\n";
    }
    write();
  }
  ~run_directory() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  void remove(const std::string& file) {
    std::filesystem::remove(path_ + "/" + file);
    texts_.erase(file);
  }
  std::string& text(const std::string& file) { return texts_.at(file); }
  void write() const {
    for (const auto& [file, text] : texts_)
      std::ofstream(path_ + "/" + file) << text;
  }

private:
  std::string path_;
  std::map<std::string, std::string> texts_;
};

std::unique_ptr<trace_files> opened(const run_directory& run) {
  auto files = trace_files::open(run.path(), node_state::unknown);
  REQUIRE_MESSAGE(files.ok(), (files.ok() ? "" : files.error().text));
  return std::move(files.value());
}

std::string shown(const trace_files& files, const std::string& wanted) {
  std::ostringstream out;
  const protocol::failure why = show_request(files, wanted, chart_extent::folded, out);
  return why ? why.text : out.str();
}

} // namespace

TEST_CASE("files give back every record, and their directory checks: ok") {
  const memory_trace trace = record_hand_offs({});
  const run_directory run(trace);
  const auto files = opened(run);
  REQUIRE(files->keys().size() == trace.records.size());
  CHECK(files->sections().size() == trace.all_sections.size());
  CHECK(files->torn().empty());
  for (std::size_t i = 0; i < files->keys().size(); ++i)
    CHECK(files->record(i).value().header.id == files->keys()[i].id);
  const auto verdict = check_idle_cluster(run.path());
  REQUIRE(verdict.ok());
  CHECK(verdict.value().text
        == "trace check: ok (" + std::to_string(trace.records.size()) + " records, "
             + "26 actors, 2 requests)\n");
}

TEST_CASE("a node's whole file that is not there is no silence: the check fails and names it") {
  run_directory run(record_hand_offs({}));
  run.remove("D0.1.trace.jsonl");
  const auto verdict = check_idle_cluster(run.path());
  REQUIRE(verdict.ok());
  CHECK_FALSE(verdict.value().ok);
  CHECK(verdict.value().text.find("has no trace of D0.1, which cluster.json names")
        != std::string::npos);
}

TEST_CASE("lines cut out of a closed file are missed") {
  run_directory run(record_hand_offs({}));
  auto& text = run.text("router.trace.jsonl");
  const std::size_t first = text.find('\n') + 1;
  text.erase(first, text.find('\n', first) + 1 - first);
  run.write();
  const auto files = opened(run);
  REQUIRE(files->missing().size() == 1);
  CHECK(files->missing()[0].find("router.trace.jsonl:") == 0);
}

TEST_CASE("records are missed by what they brought about, though their file claims to be whole") {
  const memory_trace trace = record_hand_offs({});
  run_directory run(trace);
  std::string& text = run.text("D0.1.trace.jsonl");
  text.erase(text.find('\n') + 1);
  text += protocol::to_line(protocol::trace_end{0}) + "\n";
  run.write();
  const auto verdict = check_idle_cluster(run.path());
  REQUIRE(verdict.ok());
  CHECK_FALSE(verdict.value().ok);
  CHECK_MESSAGE(verdict.value().text.find("missing: records of D0.1: it sent ")
                  != std::string::npos, verdict.value().text);
}

TEST_CASE("files of another node or another cluster are told apart") {
  run_directory run(record_hand_offs({}));
  std::swap(run.text("D0.0.trace.jsonl"), run.text("D0.1.trace.jsonl"));
  std::string& cluster = run.text("cluster.json");
  cluster.replace(cluster.find("little"), 6, "larger");
  run.write();
  const auto verdict = check_idle_cluster(run.path());
  REQUIRE(verdict.ok());
  CHECK_FALSE(verdict.value().ok);
  CHECK(verdict.value().text.find("D0.0.trace.jsonl is the trace of D0.1") != std::string::npos);
  CHECK(verdict.value().text.find("cluster.json of \"larger\"") != std::string::npos);
}

TEST_CASE("without its cluster file a directory is checked, with a note") {
  run_directory run(record_hand_offs({}));
  run.remove("cluster.json");
  const auto verdict = check_idle_cluster(run.path());
  REQUIRE(verdict.ok());
  CHECK(verdict.value().ok);
  CHECK(verdict.value().text.find("note: no cluster file tells") != std::string::npos);
}

TEST_CASE("a client that was killed owes no outcome") {
  run_directory run(record_hand_offs({}));
  std::string& text = run.text("client.trace.jsonl");
  text.erase(text.find('\n') + 1); // its header is all that is left
  run.write();
  const auto verdict = check_idle_cluster(run.path());
  REQUIRE(verdict.ok());
  CHECK_MESSAGE(verdict.value().ok, verdict.value().text);
  CHECK(verdict.value().text.find("was not closed") != std::string::npos);
}

TEST_CASE("a torn last line is reported and skipped") {
  run_directory run(record_hand_offs({}));
  auto& text = run.text("client.trace.jsonl");
  const std::size_t end_line = text.rfind("{\"end\"");
  text = text.substr(0, end_line - 20);
  run.write();
  const auto files = opened(run);
  REQUIRE(files->torn().size() == 1);
  CHECK(files->torn()[0].find("client.trace.jsonl:") == 0);
  CHECK(files->torn()[0].find("torn") != std::string::npos);
  CHECK(files->broken().empty());
}

TEST_CASE("a line that was torn by a kill, before its node started again, is skipped too") {
  run_directory run(record_hand_offs({}));
  auto& text = run.text("P0.1.trace.jsonl");
  const std::string header = text.substr(0, text.find('\n') + 1);
  text = text.substr(0, text.rfind("{\"end\"")) + "{\"id\":\"00\n" + header
         + protocol::to_line(protocol::trace_end{0}) + "\n";
  run.write();
  const auto files = opened(run);
  CHECK(files->torn().size() == 1);
  CHECK(files->broken().empty());
  CHECK(files->sections().size() == 7);
}

TEST_CASE("a broken line in the middle is a violation with its file and line") {
  run_directory run(record_hand_offs({}));
  auto& text = run.text("client.trace.jsonl");
  text.insert(text.find('\n') + 1, "{\"id\":\n");
  run.write();
  const auto verdict = check_idle_cluster(run.path());
  REQUIRE(verdict.ok());
  CHECK_FALSE(verdict.value().ok);
  CHECK(verdict.value().text.find("unreadable: client.trace.jsonl:2: not JSON") == 0);
  CHECK(verdict.value().text.find("trace check: 1 violations\n") != std::string::npos);
}

TEST_CASE("a directory without traces, and a file without a header, are errors that name them") {
  const auto nowhere = trace_files::open("/nonexistent", node_state::unknown);
  REQUIRE_FALSE(nowhere.ok());
  CHECK(nowhere.error().text == "/nonexistent: No such file or directory");
  run_directory run(record_hand_offs({}));
  auto& text = run.text("D0.1.trace.jsonl");
  text.erase(0, text.find('\n') + 1);
  run.write();
  const auto headless = trace_files::open(run.path(), node_state::unknown);
  REQUIRE_FALSE(headless.ok());
  CHECK(headless.error().text == "D0.1.trace.jsonl:1: expected a trace's header");
}

TEST_CASE("a pipe or a folder with the name of a trace is an error, and nobody waits for it") {
  const run_directory run(record_hand_offs({}));
  const std::string path = run.path() + "/x.trace.jsonl";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const auto pipe = trace_files::open(run.path(), node_state::unknown);
  REQUIRE_FALSE(pipe.ok());
  CHECK(pipe.error().text == path + ": is not a regular file");
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  const auto folder = trace_files::open(run.path(), node_state::unknown);
  REQUIRE_FALSE(folder.ok());
  CHECK(folder.error().text == path + ": is not a regular file");
}

TEST_CASE("show prints a request in causal order with commit, receipt, stop and reclaim") {
  const run_directory run(record_hand_offs({}));
  const auto files = opened(run);
  const std::string text = shown(*files, "req-2");
  std::size_t at = 0;
  for (const char* expected : {"submit_request", "open_request", "begin_reservation", "open_lane",
                               "receipt", "COMMIT", "token_emitted", "ENDED", "RECLAIM"}) {
    const std::size_t found = text.find(expected, at);
    CHECK_MESSAGE(found != std::string::npos, expected);
    at = found == std::string::npos ? at : found;
  }
  CHECK(text.find("stopped") != std::string::npos);
  CHECK(text.find("complete -> live") != std::string::npos);
  CHECK(text.find("D0.0:reservation/1 ") == std::string::npos); // the other request's
}

TEST_CASE("show finds a request by the beginning of its id and says when it cannot") {
  const run_directory run(record_hand_offs({}));
  const auto files = opened(run);
  CHECK(shown(*files, "000000000000004d0000000000000002").find("(req-2)") != std::string::npos);
  CHECK(shown(*files, "0000") == "'0000' begins the id of 2 requests: give more of it");
  CHECK(shown(*files, "req-9")
        == "no request 'req-9' among the 2 of this trace; one of them is req-1");
}

TEST_CASE("stats join latencies, outcomes and bytes of the whole run") {
  const run_directory run(record_hand_offs({}));
  trace_stats stats = gather_stats(*opened(run));
  CHECK(stats.requests == 2);
  CHECK(stats.outcomes == std::map<std::string, std::uint64_t>{{"completed", 2}});
  CHECK(stats.first_token.count() == 2);
  CHECK(stats.inter_token.count() == 4);
  CHECK(stats.end_to_end.count() == 2);
  CHECK(stats.hand_off.count() == 2);
  CHECK(stats.first_token.quantile_ns(50) <= stats.end_to_end.quantile_ns(50));
  // Two requests, two lanes, three pieces of 64 bytes and a resume state of 128.
  CHECK(stats.bytes_landed
        == std::map<std::string, std::uint64_t>{{"D0.0", 640}, {"D0.1", 640}});
  CHECK(to_table(stats).find("bytes landed 1280") != std::string::npos);
  CHECK(to_json_text(stats).find("\"hand_off\":{\"count\":2") != std::string::npos);
}

TEST_CASE("a record that cannot be read is counted by stats, and shown and returned by show") {
  run_directory run(record_hand_offs({}));
  std::string& text = run.text("D0.0.trace.jsonl"); // looks like a record from outside only
  const std::size_t line = text.find("\"message\":\"commit\"");
  REQUIRE(line != std::string::npos);
  const std::size_t after = text.find("\"effects\":[", line);
  text.replace(after, 11, "\"effects\":{");
  run.write();
  const auto files = opened(run);
  CHECK(files->broken().empty());
  const trace_stats stats = gather_stats(*files);
  CHECK(stats.unreadable == 1);
  CHECK(stats.first_unreadable.text.find("D0.0.trace.jsonl:") == 0);
  int returned = 0; // for the request whose commit it is
  for (const char* request : {"req-1", "req-2"}) {
    std::ostringstream out;
    const auto why = show_request(*files, request, chart_extent::folded, out);
    CHECK(out.str().find("ENDED") != std::string::npos);
    CHECK((!why || why.text == stats.first_unreadable.text));
    returned += why ? 1 : 0;
  }
  CHECK(returned == 1);
}

TEST_CASE("a quantile is the smallest value that enough values do not exceed") {
  sample_set samples;
  CHECK(samples.quantile_ns(99) == 0);
  for (int v = 100; v >= 1; --v)
    samples.add(v);
  CHECK(samples.quantile_ns(50) == 50);
  CHECK(samples.quantile_ns(90) == 90);
  CHECK(samples.quantile_ns(99) == 99);
}
