// What the two ranks of a mapped lane know of its writer.
//
//   destination: open ──reader_ended──▶ waiting ──evidence──▶ stopped      (in either order)
//   source:      writing ──sequence_ended, or hold gone and writing_ended──▶ forgotten
//
// A mapped prefiller is a writer from the moment at which its lane is opened, whether or not it has
// ever been told, until one of these: it said itself that it has stopped (writer_stopped), its
// process is dead and collected (process_ended), or its pages were replaced (pages_replaced). The
// last ends that life as a writer for good: it may still run, and believe in what it wrote. The
// fresh pages are this process's alone. So no life whatever writes these blocks in place again,
// whenever it maps the memory: a lane that names one of them is refused.
#pragma once

#include "protocol/clock.hpp"
#include "protocol/messages_mapped.hpp"
#include "protocol/messages_transfer.hpp"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace baton::protocol {

inline bool is_mapped(const open_lane& e) { return e.writer != incarnation{}; }

/// What the kernel says of a process. One that is only dead may have stores under way: the last of
/// its threads has not left yet.
enum class process_end : std::uint8_t { died, collected };

/// The lanes of one destination rank that are written in place.
class written_lanes {
public:
  /// With the lane's start. A failure when its writer's life may not write here any more; the lane
  /// is remembered all the same.
  failure begin(const open_lane& opened);

  /// The endpoint's word: nothing else arrives for the lane, and it takes no more notices. True
  /// when the lane has stopped with that: its writer has ended before, or it has none.
  bool reader_ended(const lane_id& lane, instant now);

  /// The reservation's word with stop_lane: attention does not read the blocks, and will not.
  void unread(const lane_id& lane);

  /// Evidence. Lanes that have stopped with it; a word of another life, or of a lane that is not
  /// known (any more), changes nothing.
  std::vector<lane_id> take(const writer_stopped& e);
  std::vector<lane_id> process_ended(const incarnation& life, process_end how);
  std::vector<lane_id> pages_replaced(const lane_id& lane);

  struct question {
    node_name source;
    ask_writer ask;
  };
  /// What to ask now, of everyone whose word is missing.
  std::vector<question> questions() const;
  /// Lanes that have waited for so long, and whose bytes nobody here needs: pages of live blocks
  /// are not replaced, however long their writer is silent.
  std::vector<lane_id> overdue(instant now, std::int64_t wait_ms) const;

  /// The lane's actor has ended.
  void forget(const lane_id& lane) { lanes_.erase(lane); }

  static constexpr const char* type = "written_lanes";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lanes", s.lanes_), field("ended", s.ended_),
                           field("replaced", s.replaced_));
  }

private:
  struct entry {
    open_lane opened;
    bool writer_ended = false;
    std::optional<instant> waits_since; ///< the reader's end
    bool unread = false;
  };
  bool may_write_no_more(const incarnation& life) const { return ended_.count(life) > 0; }
  /// True when the lane has stopped with the end of its writer.
  static bool end_writer(entry& lane);

  std::map<lane_id, entry> lanes_;
  std::set<incarnation> ended_; ///< lives: of one group of a few ranks, once each
  std::set<block_id> replaced_; ///< at most the pool's
};

/// The lanes for which one source rank writes.
class lane_writers {
public:
  struct said {
    node_name destination;
    lane_id lane;
  };
  /// A mapped feed was opened: kernels of this rank may write for it.
  void begin(const open_feed& opened);

  /// Asked by a destination. True when the hold must be asked for: nothing is known of the lane, or
  /// the question comes again, so that the sequence's end may have been missed.
  bool ask(const ask_writer& e, const node_name& destination);

  /// The hold has released it, and this rank's device has ended it. Whom to tell.
  std::vector<said> take(const sequence_ended& e);

  /// The pool's word that the hold is gone. True when a destination waits for that, so that the
  /// device is to be asked.
  bool hold_gone(const reservation_id& hold);
  /// The device's answer. Whom to tell.
  std::vector<said> take(const writing_ended& e);

  static constexpr const char* type = "lane_writers";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("lanes", s.lanes_));
  }

private:
  struct entry {
    attempt_id attempt;
    node_name destination;
    std::optional<sequence_id> sequence; ///< none: asked for before its feed came, if ever
    std::optional<reservation_id> hold;  ///< once asked
    bool hold_is_gone = false;
  };
  template <class Predicate>
  std::vector<said> take_if(Predicate ended);

  std::map<lane_id, entry> lanes_;
};

} // namespace baton::protocol
