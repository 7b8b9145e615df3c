// Where a request's time went: from a frame at the client back to its cause, that one's cause, and
// so on to the submission. Each step of this path is a stretch of time with a kind and a phase;
// together they cover the whole time without a gap and without an overlap, so that work beside the
// path is not counted. A stretch for which the records name no reason is `unexplained`.
#pragma once

#include "protocol/trace_source.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace baton::protocol {

/// What a stretch of the path was spent on.
enum class path_kind : std::uint8_t {
  way,         ///< sent -> handled: the wire and the mailbox
  handling,    ///< a step of a machine and the sending of its effects
  queue,       ///< at an actor that served others first
  device_wait, ///< a plan was with its compute device, whose kernels did not run yet
  compute,     ///< kernels of a plan that the request was part of
  transfer,    ///< offered by the source -> landed, between the transfer devices
  device,      ///< asked of a transfer device -> its word
  timer,       ///< set -> due
  unexplained
};

/// What the request was at.
enum class path_phase : std::uint8_t {
  submit,
  place,
  reserve,
  prefill,
  hand_off,
  commit,
  step, ///< of decoding: the first token's, or a later one's
  stream,
  other ///< giving up, cleaning up
};

inline constexpr std::size_t path_kinds = 9;
inline constexpr std::size_t path_phases = 9;

const char* to_string(path_kind kind);
const char* to_string(path_phase phase);

/// Nanoseconds of the monotonic clock; from_ns < to_ns.
struct path_segment {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  path_kind kind = path_kind::unexplained;
  path_phase phase = path_phase::other;
  std::size_t record = 0; ///< which was on its way, was handled, or (queue) freed its actor

  std::int64_t length_ns() const { return to_ns - from_ns; }
};

/// In order of time; each begins where the one before ends.
using causal_path = std::vector<path_segment>;

std::int64_t length_ns(const causal_path& path);
std::int64_t unexplained_ns(const causal_path& path);

struct path_index;

/// Reads the whole trace once; about 150 bytes a record are kept.
class path_finder {
public:
  explicit path_finder(const trace_source& source);
  ~path_finder();
  path_finder(const path_finder&) = delete;
  path_finder& operator=(const path_finder&) = delete;

  /// Those of which a first token is known, in order of their first records.
  const std::vector<request_id>& requests() const;
  /// Records that could not be read and were left out, and what is wrong with the first.
  std::size_t unreadable() const;
  const failure& first_unreadable() const;

  /// From the submission to frame 0 at the client; at the router where no client's file is there.
  /// `number` counts requests().
  causal_path to_first_token(std::size_t number) const;
  /// Frames that are known of it.
  std::size_t frames(std::size_t number) const;
  /// From frame `frame` - 1 to frame `frame`, from 1.
  causal_path between_tokens(std::size_t number, std::size_t frame) const;

private:
  std::unique_ptr<path_index> index_;
};

} // namespace baton::protocol
