// What the messages seen so far say about ownership: who was granted which blocks, and what
// evidence has been handled where. Built from messages alone, never from what a machine believes.
//
// The numbers named *_at are records (trace_step::index), for the chains of violations.
#pragma once

#include "protocol/trace_fact.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

namespace baton::protocol {

using record_at = std::optional<std::size_t>;

/// The destination end of a lane.
struct lane_facts {
  record_at opened_at;
  std::uint32_t section = 0; ///< where its actor lives
  incarnation source_life;
  incarnation writer;    ///< in place: the life that writes the blocks itself
  reservation_id hold;   ///< in place: for which it does
  std::size_t blocks = 0; ///< in place: the first ones of its reservation
  std::optional<std::uint64_t> admitted_turn; ///< let in, as it has heard
  record_at unread_at;   ///< its reservation has said so
  std::set<incarnation> stopped_writers; ///< who has said so to its rank
  record_at replaced_at; ///< its blocks have fresh pages
  record_at quiesced_at; ///< handled by the lane
  std::size_t pieces_wanted = 0;
  std::set<std::uint32_t> pieces; ///< landed, until all have
  record_at received_at; ///< it has sent its receipt
  record_at landed_at;   ///< handled by the reservation
  std::uint64_t resume_digest = 0;
  record_at stopped_at;  ///< handled by the reservation
};

/// The source end of a lane.
struct feed_facts {
  std::size_t opened_at = 0;
  std::uint32_t section = 0;
  record_at ended_at; ///< receipt or stop, handled by the hold
  record_at received_at; ///< the receipt
};

/// What a feed's own actor has offered.
struct offer_facts {
  std::size_t opened_at = 0;
  std::uint32_t block_tokens = 1;
  std::uint32_t prompt_tokens = 0;
  std::ptrdiff_t offered = 0; ///< blocks
};

/// What an attempt has heard of who holds memory for it.
struct attempt_debts_facts {
  std::optional<reservation_id> destination;
  std::optional<reservation_id> hold;
  std::string decode_group;
  std::string source_group;
  bool destination_owed = false;
  bool source_owed = false;
};
/// With the step that its attempt handles now.
attempt_debts_facts after(attempt_debts_facts before, const trace_step& step);

/// What a pool has charged: a reservation's blocks or a source hold's.
struct charge {
  enum class side : std::uint8_t { destination, source };
  side kind = side::destination;
  reservation_id id;
  attempt_id attempt;
  sequence_id sequence; ///< one grant's for ever, in the life of its group
  std::vector<block_ref> blocks;
  std::size_t granted_at = 0;
  record_at quiesced_at; ///< sequence_quiesced, handled by its holder
  record_at reclaimed_at;
  // Of a destination.
  instant lease_end;
  std::optional<manifest> expected; ///< until the offer came
  std::string manifest_problem;     ///< "" when an equal offer came
  record_at offered_at;
  std::optional<reservation_id> let_in; ///< the hold whose offer it took
  bool mapped = false; ///< ranks of another group write these blocks themselves
  std::map<lane_id, lane_facts> lanes;
  std::size_t lanes_asked = 0;    ///< for the offer that was taken
  std::set<lane_id> lanes_open;   ///< as the reservation has heard
  record_at completed_at;
  record_at committed_at; ///< and activated: once
  std::vector<reservation_id> in_place_holds; ///< those that may write these blocks themselves
  record_at said_reclaimed_at; ///< by its holder
  // Of a source.
  reservation_id destination;
  record_at submitted_at; ///< from here on kernels may write: its blocks, or an in-place grant's
  std::map<lane_id, feed_facts> feeds;
};

/// A block's present holder, or its last one.
struct block_facts {
  generation last;     ///< granted so far; 0: never
  std::uint64_t holder = 0;
  std::size_t granted_at = 0;
  record_at freed_at; ///< set: nobody holds it
};

struct pool_facts {
  form_pool formed;
  std::size_t formed_at = 0;
  std::uint32_t section = 0;
  std::vector<block_facts> blocks;
  std::uint64_t charged_blocks = 0;
  std::uint32_t charges_open = 0;
  std::uint32_t slots_used = 0; ///< of charges at the destination
};

/// An attempt's claim of its request, by the request's own turns: its answer may be heard late,
/// after the attempt has given up and another has claimed.
struct ownership {
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  std::uint64_t from = 0; ///< the request answered the claim
  std::uint64_t until = never; ///< the request heard that the attempt gave up
  record_at granted_at; ///< the attempt heard that it owns
};

struct request_facts {
  external_id external;
  record_at opened_at; ///< at the router
  record_at gone_at;   ///< its actor has ended
  record_at ended_at;
  std::map<attempt_id, ownership> owners; ///< attempts that have claimed it

  /// True when its claim was granted and has not been given up.
  bool is_owned_by(const attempt_id& attempt) const;
  std::uint32_t next_at_client = 0;
  std::uint32_t next_at_router = 0;
  record_at frame_at; ///< last one that the client got
};

/// A word, as its hearer first got it. The network may bring the same word again: it then has the
/// same cause, which is the step that said it.
struct told_facts {
  std::size_t at = 0;
  std::uint64_t cause = 0;
};

/// One name of one life of a client; it may be used again after each outcome.
struct external_facts {
  std::uint64_t submitted = 0;
  std::uint64_t ended = 0;
  std::size_t last_at = 0;
};
using external_key = std::pair<std::uint32_t, std::string>; ///< the client's section, its name

/// Steps that one life of a group's leader has issued in one epoch.
struct schedule_facts {
  struct step_facts {
    std::string slices;
    std::size_t first_at = 0;
  };
  struct rank_facts {
    std::uint64_t last_step = 0;
    std::size_t last_at = 0;
  };
  std::map<std::uint64_t, step_facts> steps;
  std::map<std::uint32_t, rank_facts> ranks; ///< by section
};
using schedule_key = std::pair<std::uint32_t, std::uint64_t>; ///< leader's section, epoch

/// What the ranks of a group's life were given and have ended, by its leader's section.
struct group_facts {
  struct plan_facts {
    std::uint64_t step = 0;
    std::size_t at = 0; ///< where its rank heard of it
  };
  std::map<sequence_id, std::vector<plan_facts>> planned; ///< the last that names it, by rank
  std::vector<std::uint64_t> ended;                       ///< last step, by rank
  std::map<sequence_id, std::size_t> quiesced_at;
  record_at lost_at;                                      ///< a rank of it
};

/// What one life of a rank has heard of those who write its memory, and which plans it runs.
struct rank_memory_facts {
  std::set<incarnation> collected;               ///< processes
  std::map<incarnation, std::uint64_t> cut_off;  ///< lives that are let in no more, and the turn
  std::map<block_id, std::size_t> replaced;         ///< its own pages, in nobody's mapping
  std::map<std::uint64_t, std::vector<sequence_id>> running; ///< by step
};

/// A group's ranks as the router has been told of them: a life for each, zero while it is absent.
struct member_facts {
  std::vector<incarnation> lives;
  record_at told_at; ///< of the last rank that came or went

  bool is_whole() const;
};
using members_facts = std::map<group_name, member_facts>;

/// Where an attempt was sent, and what the router knew when it was.
struct placement_facts {
  std::size_t at = 0;
  std::shared_ptr<const members_facts> known;
};

struct fence {
  std::set<std::uint32_t> sections; ///< lives of the group that was lost
  std::size_t at = 0;
};

inline constexpr std::uint32_t no_section = 0xffff'ffff;

struct trace_world {
  explicit trace_world(const std::vector<trace_section>& all) : sections(all) {}

  const std::vector<trace_section>& sections;
  std::map<incarnation, pool_facts> pools;
  std::map<reservation_id, charge> charges;
  std::unordered_map<std::uint32_t, reservation_id> charge_of_actor;
  // Oldest first. There is more than one where a word came late and was granted again.
  std::map<reservation_id, std::vector<reservation_id>> holds; ///< by the destination's reservation
  std::map<attempt_id, std::vector<reservation_id>> destinations; ///< reservations of an attempt
  std::map<attempt_id, std::size_t> claims;
  std::map<reservation_id, told_facts> told_reclaimed; ///< to the attempt
  std::map<request_id, request_facts> requests;
  std::map<external_key, external_facts> externals;
  std::map<schedule_key, schedule_facts> schedules;
  std::unordered_map<std::uint32_t, offer_facts> feeds;         ///< by their actors
  std::unordered_map<std::uint32_t, attempt_debts_facts> debts; ///< by the attempts' actors
  std::map<std::uint32_t, group_facts> groups;          ///< by their leaders' sections
  std::map<std::uint32_t, rank_memory_facts> ranks;            ///< by section
  std::set<std::uint32_t> poisoned_leaders;             ///< sections
  std::map<std::uint32_t, std::shared_ptr<members_facts>> members; ///< by their routers' sections
  std::map<attempt_id, placement_facts> placements;                ///< of those not drained
  std::unordered_map<std::uint32_t, std::vector<fence>> fences; ///< by actor
  std::set<std::uint32_t> seen_sections;
  std::uint64_t turn = 0; ///< steps taken in so far

  /// Takes the step in. Called after every invariant has looked at it.
  void apply(const trace_step& step);

  const charge* find(const reservation_id& id) const;
  charge* find(const reservation_id& id);
  /// The charge that the step's actor holds.
  const charge* held_by(const trace_step& step) const;
  charge* held_by(const trace_step& step);
  /// The source that computes that sequence for the reservation; null where there is none.
  charge* hold_of(const reservation_id& destination, const sequence_id& sequence);
  /// The attempt's reservation whose tokens that sequence is; null where there is none.
  const charge* destination_of(const attempt_id& attempt, const sequence_id& sequence) const;
  const pool_facts* pool_of(const reservation_id& id) const;
  lane_facts* lane(const lane_id& id);
  const lane_facts* lane(const lane_id& id) const; ///< null where nobody has named it
};

/// True when a reservation itself said it: a pool answers for one that is gone as often as it is
/// asked.
bool told_by_holder(const trace_step& step);

/// True when the step hears that same word once more.
bool is_same_word(const told_facts& told, const trace_step& step);

/// "D3" of "D3.0"; the name itself where there is no rank.
std::string group_of_node(const std::string& node);

/// Takes in what a group's leader and its ranks say of their steps.
void note_group(trace_world& world, const trace_step& step);

/// Takes in who writes a rank's memory in place, and what is heard of their end.
void note_writers(trace_world& world, const trace_step& step);

/// Takes in what a router hears of nodes, and where it places attempts.
void note_members(trace_world& world, const trace_step& step);

/// Which schedule a run_step belongs to, and how it compares: slices as text.
schedule_key schedule_of(const trace_step& step, const run_step& e);
std::string slices_text(const run_step& e);

} // namespace baton::protocol
