#include "actors/trace_tracks.hpp"

#include <algorithm>
#include <cstdio>

namespace baton::actors {

using namespace protocol;

namespace {

/// Where a track stands among those of its process: from the router's to the bytes.
std::size_t order_of(const std::string& actor) {
  static const char* const kinds[]
    = {"client",      "node_guard", "router",     "request",        "attempt",
       "pool",        "reservation", "lane",      "source_hold",    "feed",
       "rank_group",  "compute_device", "transfer_device"};
  const std::string kind = actor.substr(0, actor.find('/'));
  const auto it = std::find(std::begin(kinds), std::end(kinds), kind);
  return static_cast<std::size_t>(it - std::begin(kinds)) + 1;
}

constexpr std::size_t kernels_order = 100; ///< after the actors

std::string quoted(const std::string& text) { return to_text(json(text)); }

/// Nanoseconds as microseconds, exactly.
std::string us_text(std::int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%s%lld.%03lld", ns < 0 ? "-" : "",
                static_cast<long long>(std::abs(ns) / 1000),
                static_cast<long long>(std::abs(ns) % 1000));
  return text;
}

} // namespace

track_writer::track_writer(const std::vector<trace_section>& sections,
                           const std::vector<trace_key>& keys, std::int64_t origin_ns,
                           std::ostream& out)
  : sections_(sections), origin_ns_(origin_ns), out_(out) {
  for (const trace_key& key : keys)
    actors_ = std::max<std::uint64_t>(actors_, key.actor + std::uint64_t{1});
  named_.assign(actors_, false);
  kernels_named_.assign(sections.size(), false);
}

void track_writer::open() {
  out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  for (std::uint32_t s = 0; s < sections_.size(); ++s)
    name("process", s, 0, sections_[s].header.node.value + " (" + sections_[s].file + ")", s);
}

void track_writer::close() { out_ << "\n]}\n"; }

void track_writer::slice(const trace_key& key, const std::string& actor,
                         const std::string& message, time_slice when, const json& args) {
  if (!named_[key.actor]) {
    named_[key.actor] = true;
    name("thread", key.section, track_of(key), actor, order_of(actor));
  }
  event("\"ph\":\"X\",\"cat\":\"handling\",\"name\":" + quoted(message)
        + place(key.section, track_of(key)) + time(when.begin_ns) + ",\"dur\":"
        + us_text(std::max<std::int64_t>(1, when.end_ns - when.begin_ns)) + ",\"args\":"
        + to_text(args));
}

void track_writer::kernels(std::uint32_t section, const std::string& step, time_slice when) {
  const std::uint64_t track = sections_.size() + actors_ + section + 1;
  if (!kernels_named_[section]) {
    kernels_named_[section] = true;
    name("thread", section, track, "kernels", kernels_order);
  }
  event("\"ph\":\"X\",\"cat\":\"kernels\",\"name\":" + quoted(step) + place(section, track)
        + time(when.begin_ns) + ",\"dur\":"
        + us_text(std::max<std::int64_t>(1, when.end_ns - when.begin_ns)));
}

void track_writer::flow(std::uint64_t id, const trace_key& from, const trace_key& to,
                        const std::string& message) {
  const std::string common = ",\"cat\":\"message\",\"name\":" + quoted(message) + ",\"id\":"
                             + std::to_string(id);
  event("\"ph\":\"s\"" + common + place(from.section, track_of(from)) + time(from.begin_ns));
  event("\"ph\":\"f\",\"bp\":\"e\"" + common + place(to.section, track_of(to))
        + time(to.begin_ns));
}

void track_writer::counter(std::uint32_t section, const std::string& what, std::int64_t at_ns,
                           const json& values) {
  event("\"ph\":\"C\",\"cat\":\"blocks\",\"name\":" + quoted(what) + place(section, 0)
        + time(at_ns) + ",\"args\":" + to_text(values));
}

std::string track_writer::place(std::uint32_t section, std::uint64_t track) const {
  return ",\"pid\":" + std::to_string(section + 1) + ",\"tid\":" + std::to_string(track);
}

/// Behind the numbers of the processes: a thread of its process's number is its main thread.
std::uint64_t track_writer::track_of(const trace_key& key) const {
  return sections_.size() + key.actor + 1;
}

std::string track_writer::time(std::int64_t ns) const {
  return ",\"ts\":" + us_text(ns - origin_ns_);
}

void track_writer::event(const std::string& fields) {
  out_ << (first_ ? "\n{" : ",\n{") << fields << '}';
  first_ = false;
}

void track_writer::name(const char* what, std::uint32_t section, std::uint64_t track,
                        const std::string& text, std::size_t order) {
  const std::string kind(what);
  event("\"ph\":\"M\",\"name\":\"" + kind + "_name\"" + place(section, track)
        + ",\"args\":{\"name\":" + quoted(text) + "}");
  event("\"ph\":\"M\",\"name\":\"" + kind + "_sort_index\"" + place(section, track)
        + ",\"args\":{\"sort_index\":" + std::to_string(order) + "}");
}

} // namespace baton::actors
