#include "tests/sim/recording.hpp"

#include "protocol/trace_line.hpp"
#include "tests/sim/recorder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace baton::sim {

using namespace protocol;

namespace {
constexpr const char* suffix = ".trace.jsonl";
} // namespace

std::size_t recording::open(trace_header header) {
  life l;
  l.section.file = header.node.value + suffix;
  l.section.header = std::move(header);
  l.section.end = section_end::flushed;
  lives_.push_back(std::move(l));
  return lives_.size() - 1;
}

void recording::close(std::size_t section, section_end end) {
  if (lives_.at(section).section.end == section_end::flushed)
    lives_[section].section.end = end;
}

void recording::add(std::size_t section, trace_record record) {
  lives_.at(section).records.push_back(std::move(record));
}

void recording::index() {
  std::stable_sort(lives_.begin(), lives_.end(), [](const life& a, const life& b) {
    return a.section.file < b.section.file; // those of one node are in their order already
  });
  sections_.clear();
  keys_.clear();
  records_.clear();
  std::map<std::pair<std::size_t, std::string>, std::uint32_t> actors;
  for (const life& l : lives_) {
    const auto section = static_cast<std::uint32_t>(sections_.size());
    sections_.push_back(l.section);
    for (const trace_record& r : l.records) {
      const auto number = static_cast<std::uint32_t>(actors.size());
      const auto actor = actors.try_emplace({section, r.actor}, number).first->second;
      keys_.push_back({r.header.id, r.header.cause, r.begin_ns, section, actor});
      records_.push_back(&r);
    }
  }
}

recording recorded(const tape& t) {
  recorder watching;
  return watching.result(replay(t, &watching));
}

recording recorded(const run_frame& frame, std::uint64_t seed) {
  recorder watching;
  prng_choices chance(seed);
  return watching.result(simulate(frame, chance, &watching));
}

std::string trace_verdict(const recording& r) {
  std::string text;
  for (const auto& v : check_trace(r, r.extent).violations)
    text += (text.empty() ? "trace " : "\ntrace ") + v.what.id + ": " + v.what.sentence;
  return text;
}

std::string write(const recording& r, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  std::filesystem::directory_iterator files(directory, error);
  if (error)
    return directory + ": " + error.message();
  for (const auto& file : files) {
    const std::string name = file.path().filename().string();
    if (name.size() > 12 && name.compare(name.size() - 12, 12, suffix) == 0)
      return directory + ": there is a trace in it already";
  }
  std::size_t at = 0;
  for (std::uint32_t s = 0; s < r.sections().size(); ++s) {
    const trace_section& section = r.sections()[s];
    std::ofstream out(directory + "/" + section.file, std::ios::app);
    out << to_line(section.header) << '\n';
    std::uint64_t records = 0;
    for (; at < r.keys().size() && r.keys()[at].section == s; ++at, ++records)
      out << to_line(r.record(at).value()) << '\n';
    if (section.end == section_end::closed)
      out << to_line(trace_end{records}) << '\n';
    if (!out.flush())
      return directory + "/" + section.file + ": cannot be written";
  }
  return "";
}

} // namespace baton::sim
