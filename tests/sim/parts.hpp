// What a simulated world is made of: messages under way, rows of its devices, and what can happen.
#pragma once

#include "tests/sim/catalogue.hpp"

namespace baton::sim {

/// What an action touched.
struct footprint {
  std::uint32_t requests = 0; ///< by bit: whose actors were stepped
  bool admits = false;        ///< a pool was asked for room
  bool frees = false;         ///< a pool's ledger changed otherwise
};

struct party {
  std::uint32_t who = 0; ///< packed address
  std::uint32_t state = 0;
  contacts knows;
};

/// A message under way. For devices at both ends of a lane `event_of` and `what` say which notice.
enum class letter : std::uint8_t {
  event, start, offer, receipt, stopped, rejected, query,
  // Between ranks that share memory (mapped.cpp):
  ask_writer,     ///< lane to feed; `event` is the question
  writer_stopped, ///< feed to lane; `event` is the writer's life
  end_sequence,   ///< hold to a rank; `event` is the sequence
  ask_hold,       ///< feed to its pool; `event` is the question
  hold_gone       ///< pool to feed; `event` is the question
};
struct mail {
  std::uint32_t to = 0;   ///< packed address; for notices the feed (to the source) or lane
  std::uint32_t from = 0; ///< packed address
  std::uint32_t event = 0; ///< event number, or the pieces of an offer, by bit
  letter what = letter::event;
  kind event_of = kind::request;
  bool local = false; ///< neither lost nor repeated
  std::uint32_t blocks = 0; ///< of an offer: the source's
  std::uint32_t id = 0;     ///< for traces, as `cause`: neither is part of the state
  std::uint32_t cause = 0;  ///< message whose handling sent this one; 0: a device
};

struct timer {
  std::uint32_t who = 0;
  std::uint32_t event = 0;
  std::int64_t due_ms = 0;
};

/// A lane in its destination rank's table of grants.
struct table_row {
  std::uint32_t lane = 0;
  std::uint32_t feed = 0;
  enum class phase : std::uint8_t { open, stopping, stopped } now = phase::open;
  bool received = false;
  std::uint32_t blocks = 0; ///< table of blocks written
  std::uint32_t source = 0; ///< table of blocks read; 0: no offer came yet
  std::uint32_t posted = 0; ///< by piece: a read is outstanding and may land at any time
  std::uint32_t landed = 0;
  std::uint32_t cause = 0; ///< for traces: of the last offer
};

/// A sequence on a group's ranks.
struct sequence_row {
  group_life home;
  std::uint16_t number = 0;
  std::uint32_t holder = 0; ///< packed reservation or hold
  std::uint32_t payload = 0;
  std::uint32_t blocks = 0; ///< table of its blocks as they were when it began
  std::uint8_t ranks_done = 0; ///< prefill: by rank; decode: tokens emitted
  bool cancelling = false;
  bool finished = false; ///< decode: said so; some rank still reads
  bool mapped = false;   ///< prefill: its blocks are those of `target`'s memory
  group_life target;
  std::uint8_t ending = 0; ///< by rank: told to forget it, and still at work
  std::uint8_t asked = 0;  ///< by rank: is to say when nothing of its attempt runs
};

/// What a client has seen.
struct client_row {
  std::uint8_t frames = 0;
  std::uint8_t outcome = 0; ///< kind + 1
  std::uint8_t commits = 0; ///< attempts committed so far, by ordinal
};

struct group_row {
  std::uint8_t life = 0;
  bool alive = true;
  std::int64_t now_ms = 0; ///< its clock
};

/// Ranks that share memory, by group and rank; empty where no world is mapped.
struct mapped_devices {
  std::vector<std::uint32_t> written; ///< decode: what a rank knows of its lanes' writers
  std::vector<std::uint32_t> writers; ///< prefill: … of the lanes that it writes for
  std::vector<std::uint8_t> cut_off;  ///< decode, and block: 1 once it has fresh pages
  std::vector<std::uint32_t> met;     ///< feeds that a prefill rank has met, by address
  std::vector<std::uint32_t> dead;    ///< ranks whose process is not collected, as addresses
};

/// One thing that can happen next.
struct action {
  enum class what : std::uint8_t {
    deliver, ///< mail `index`
    land,    ///< row `index`, piece `arg`
    compute, ///< sequence `index`
    fire,    ///< timer `index`
    repeat,  ///< deliver mail `index` and keep it
    lose,    ///< mail `index`
    cancel,  ///< client `index`
    expire,  ///< group `index`'s clock reaches the next end of a lease
    crash,   ///< group `index`
    restart, ///< group `index`
    learn,   ///< the router hears that attempt `index`'s group is gone
    delay,   ///< the oldest mail waits for all the rest
    spoil,   ///< row `index`, piece `arg`: its bytes are wrong
    reap,    ///< a dead rank, `index`: its process is collected, and writes no more
    outwait  ///< decode group `index`, rank `arg`: a writer's silence has lasted long enough
  } kind = what::deliver;
  bool dull = false; ///< what happens when nothing is out of the ordinary
  std::uint16_t index = 0;
  std::uint16_t arg = 0;
};
inline constexpr std::size_t action_kinds = 15;
inline constexpr std::size_t action_kinds_unmapped = 13;

} // namespace baton::sim
