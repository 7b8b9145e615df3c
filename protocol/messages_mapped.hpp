// In place between two groups: a source rank writes blocks of a destination rank's memory, which it
// has mapped. Whether it has stopped is between these two ranks; each word may be lost and is then
// asked for again.
//
//   destination rank                     source rank
//   transfer device ─────ask_writer────▶ transfer device ◀──sequence_ended── compute device
//                   ◀──writer_stopped───
// Where the source rank has missed the sequence's end, it asks its pool for the hold (query_source,
// source_released), and then its device (end_writing, writing_ended).
#pragma once

#include "protocol/messages_asked_again.hpp"

namespace baton::protocol {

/// Does your rank still write for this lane?
struct ask_writer {
  lane_id lane;
  attempt_id attempt;
  reservation_id hold;

  static constexpr const char* type = "ask_writer";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("attempt", s.attempt),
                           field("hold", s.hold));
  }
};

/// Evidence, by the writer itself: no kernel of its rank writes for this lane, or will.
struct writer_stopped {
  lane_id lane;
  incarnation writer;

  static constexpr const char* type = "writer_stopped";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("writer", s.writer));
  }
};

/// Compute device -> transfer device, after end_sequence: the hold has released the sequence, and
/// every plan of this rank that named it has ended.
struct sequence_ended {
  sequence_id sequence;

  static constexpr const char* type = "sequence_ended";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("sequence", s.sequence));
  }
};

/// Transfer device -> compute device: the attempt's hold is gone, so that no plan of it is issued
/// any more; say when none runs here.
struct end_writing {
  attempt_id attempt;

  static constexpr const char* type = "end_writing";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt));
  }
};

/// Compute device -> transfer device, after end_writing: no plan of this rank names a sequence of
/// the attempt.
struct writing_ended {
  attempt_id attempt;

  static constexpr const char* type = "writing_ended";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("attempt", s.attempt));
  }
};

/// The destination rank has put fresh memory in the place of a silent writer's blocks: whatever
/// that one still writes, it writes into the old pages, which nobody reads.
struct pages_replaced {
  lane_id lane;
  incarnation writer;
  std::uint64_t bytes = 0;
  failure error; ///< set: nothing was replaced, and the blocks stay in quarantine

  static constexpr const char* type = "pages_replaced";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lane", s.lane), field("writer", s.writer),
                           field("bytes", s.bytes), field("error", s.error));
  }
};

/// Process watch -> node guard, after process_died. Evidence: its parent has collected it, too.
/// Dead and reaped is what counts as the end of a writer that had our memory mapped.
struct process_reaped {
  node_name node;
  incarnation life;
  std::int32_t number = 0;

  static constexpr const char* type = "process_reaped";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("node", s.node), field("life", s.life),
                           field("number", s.number));
  }
};

/// Timer of a transfer device: some writer has not said that it has stopped.
struct writers_due {
  static constexpr const char* type = "writers_due";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

} // namespace baton::protocol
