// What the walk along a request's path needs to know of every record, gathered in one pass.
#pragma once

#include "protocol/trace_order.hpp"
#include "protocol/trace_path.hpp"

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace baton::protocol {

inline constexpr std::uint32_t no_number = 0xffff'ffff;

/// A word of a device, which records nothing of its own: whom it answers is known by what was asked
/// of it.
struct relayed_word {
  const char* message;
  std::vector<const char*> asked_by; ///< effects
  bool of_lane;                      ///< by the same lane's actor
  path_kind kind;
};
const std::vector<relayed_word>& relayed_words();

enum class path_role : std::uint8_t { plain, arrived, run_step, plan_ended, piece_landed };

struct path_note {
  std::int64_t sent_ns = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t figure = 0;           ///< plan_ended: compute_ns; piece_landed: the piece
  std::uint32_t offers = 0;          ///< pieces that its handling offered
  std::uint32_t request = no_number;
  std::uint32_t actor = 0;
  std::uint32_t plan = no_number;
  std::uint32_t lane = no_number;
  std::uint32_t relayed = no_number; ///< number of its relayed_word
  std::uint32_t asks = 0;            ///< relayed_words that its effects ask for, a bit each
  path_role role = path_role::plain;
  path_phase phase = path_phase::other;
  bool own = false; ///< sent by its actor to itself: a timer
};

/// A step plan on one rank.
struct path_plan {
  std::size_t run = 0; ///< its run_step
  std::vector<std::pair<std::uint32_t, path_phase>> of; ///< requests, each with its phase
};

struct request_frames {
  request_id request;
  std::optional<std::size_t> submitted; ///< submit_request
  std::optional<std::size_t> arrived;   ///< request_arrived
  std::vector<std::size_t> at_client;   ///< by index
  std::vector<std::size_t> at_router;

  const std::vector<std::size_t>& frames() const {
    return at_client.empty() ? at_router : at_client;
  }
};

struct path_index {
  explicit path_index(const trace_source& source);

  /// The request's own records and those of the plans that it was part of, by begin_ns.
  std::pair<const std::uint32_t*, const std::uint32_t*> records_of(std::uint32_t request) const;
  bool concerns(std::size_t record, std::uint32_t request) const;
  path_phase phase_of(std::size_t record, std::uint32_t request) const;

  cause_index causes;
  std::vector<path_note> notes;
  std::vector<path_plan> plans;
  std::vector<request_frames> requests; ///< by number
  std::vector<request_id> answered;     ///< with a frame
  std::vector<std::uint32_t> answered_numbers;
  std::size_t unreadable = 0;
  failure first_unreadable;

private:
  friend class path_gathering;
  std::vector<std::uint32_t> records_;
  std::vector<std::size_t> first_of_; ///< in records_, by request
};

/// By the message's name; `other` for those of cleaning up.
path_phase phase_of_message(const std::string& message);

} // namespace baton::protocol
