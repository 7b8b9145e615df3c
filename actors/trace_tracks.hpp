// Writes Chrome's JSON trace event format: processes, tracks, slices, flows and counters, one event
// a line, nothing kept but the names that have been given.
#pragma once

#include "protocol/trace_source.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace baton::actors {

/// Nanoseconds of the monotonic clock.
struct time_slice {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

class track_writer {
public:
  /// `sections` and `keys` must outlive it. Times are written as microseconds after origin_ns.
  track_writer(const std::vector<protocol::trace_section>& sections,
               const std::vector<protocol::trace_key>& keys, std::int64_t origin_ns,
               std::ostream& out);

  void open();
  void close();

  /// On the track of the key's actor. One of no length gets a nanosecond: flows are bound to what
  /// is open at their time.
  void slice(const protocol::trace_key& key, const std::string& actor, const std::string& name,
             time_slice when, const protocol::json& args);
  /// On the track of the section's compute device.
  void kernels(std::uint32_t section, const std::string& name, time_slice when);
  /// An arrow from the slice of one record to that of another. `id`: of this arrow alone.
  void flow(std::uint64_t id, const protocol::trace_key& from, const protocol::trace_key& to,
            const std::string& name);
  void counter(std::uint32_t section, const std::string& name, std::int64_t at_ns,
               const protocol::json& values);

private:
  std::string place(std::uint32_t section, std::uint64_t track) const;
  std::uint64_t track_of(const protocol::trace_key& key) const;
  std::string time(std::int64_t ns) const;
  void event(const std::string& fields);
  void name(const char* what, std::uint32_t section, std::uint64_t track, const std::string& name,
            std::size_t order);

  const std::vector<protocol::trace_section>& sections_;
  const std::int64_t origin_ns_;
  std::ostream& out_;
  std::uint64_t actors_ = 0;
  std::vector<bool> named_;        ///< actors' tracks
  std::vector<bool> kernels_named_; ///< by section
  bool first_ = true;
};

} // namespace baton::actors
