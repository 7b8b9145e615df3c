// The ownership contract's invariants as messages show them. Each is a function that looks at one
// handled message before the world takes it in, so all of them run in one pass over a trace of any
// length. They trust no machine: only grants, evidence and decisions that were really sent.
//
//   for each step in causal order:   every invariant looks;   world.apply(step)
//   at the end:                      every end check looks
#pragma once

#include "protocol/trace_world.hpp"

#include <string>
#include <vector>

namespace baton::protocol {

/// Stored per invariant; further ones are only counted.
inline constexpr std::size_t violations_kept_max = 50;

struct violation {
  std::string id;       ///< "I3", "replay", "order", "unreadable"
  std::string sentence; ///< what happened, with the numbers
  std::vector<std::size_t> shown; ///< the records that show it, the offending one last
  std::vector<block_ref> blocks;  ///< concerned
};

class verdicts {
public:
  void add(violation v);
  const std::vector<violation>& kept() const { return kept_; }
  std::uint64_t count() const { return count_; }

private:
  std::vector<violation> kept_;
  std::map<std::string, std::size_t> kept_by_id_;
  std::uint64_t count_ = 0;
};

/// An actor that was not in its last state when its section ended.
struct living_actor {
  std::uint32_t section = 0;
  std::string machine;
  std::string name;
  std::string state;
  std::size_t last_at = 0;
};

struct trace_ends {
  const trace_source& source;
  const std::map<std::uint32_t, living_actor>& living; ///< by actor
};

namespace invariants {

/// I1: a block is granted only when nobody holds it.
void one_owner(const trace_world&, const trace_step&, verdicts&);
/// I2: what lands, or is computed in place, is the present generation of a block of its own grant.
void no_late_write(const trace_world&, const trace_step&, verdicts&);
/// I3: a reservation is reclaimed after every lane's stop evidence and its readers' quiescence.
void no_early_free(const trace_world&, const trace_step&, verdicts&);
/// I4: each grant of a block has a higher generation than the last.
void generations_rise(const trace_world&, const trace_step&, verdicts&);
/// I5: a commit follows an equal manifest, every lane's landing and the claim, and precedes the
/// lease's end.
void commit_needs_all(const trace_world&, const trace_step&, verdicts&);
/// I6: one commit per attempt, one owner per request at a time.
void one_commit(const trace_world&, const trace_step&, verdicts&);
/// I7, as far as messages show it: a sequence decodes the committed blocks of its own reservation.
void reads_own_blocks(const trace_world&, const trace_step&, verdicts&);
/// I8: frames 0, 1, 2, … of attempts whose claim was granted, at the router and at the client.
void frames_in_order(const trace_world&, const trace_step&, verdicts&);
/// I9: an ending has only clean-up effects, and the last state none.
void only_clean_up(const trace_world&, const trace_step&, verdicts&);
/// I10: a lost group's word changes nothing; pieces come from the life that was let in.
void fenced_is_silent(const trace_world&, const trace_step&, verdicts&);
/// I11: grants, lanes, attempts and leases are within protocol/limits.hpp.
void within_limits(const trace_world&, const trace_step&, verdicts&);
/// I12: no pool charges more than it has, and each charge is released once.
void conserved(const trace_world&, const trace_step&, verdicts&);
/// I13: every rank runs its leader's steps, each once, in order, with the same slices.
void same_schedule(const trace_world&, const trace_step&, verdicts&);
/// I3: what is said to be quiesced is named by no plan that a rank has not ended …
void quiet_on_all_ranks(const trace_world&, const trace_step&, verdicts&);
/// … or begins later.
void plans_no_quiesced_sequence(const trace_world&, const trace_step&, verdicts&);
/// I13: a group that has lost a rank is loaded no more.
void lost_rank_ends_group(const trace_world&, const trace_step&, verdicts&);
/// I14: source blocks are reclaimed after every feed's receipt or stop and the kernels' quiescence.
void source_kept(const trace_world&, const trace_step&, verdicts&);

/// I5, I7, I10, I12, I14: offers, commits, pieces and grants are judged by what they say.
void words_are_judged(const trace_world&, const trace_step&, verdicts&);
/// I5: a transfer is complete when all lanes brought the same final hidden state.
void states_agree(const trace_world&, const trace_step&, verdicts&);
/// I3: a lane begins once, and not after it is said to have stopped.
void lane_begins_once(const trace_world&, const trace_step&, verdicts&);
/// I3, I14: a lane and a feed say that they have stopped when their device has said so.
void evidence_is_heard(const trace_world&, const trace_step&, verdicts&);
/// I3: a lane that is written in place has a writer, and stops when that has stopped, has been
/// collected, or has been cut off …
void writers_end_first(const trace_world&, const trace_step&, verdicts&);
/// … a writer says so when its kernels have quiesced, …
void writers_tell_the_truth(const trace_world&, const trace_step&, verdicts&);
/// … and nobody sends or writes before every lane of his transfer is open.
void all_lanes_are_open(const trace_world&, const trace_step&, verdicts&);
/// I7: pages are replaced of blocks that nobody reads, and what is written into the old ones later
/// counts for nothing.
void fresh_pages_are_nobodys(const trace_world&, const trace_step&, verdicts&);
/// I7: a feed offers what its rank has computed.
void offers_are_computed(const trace_world&, const trace_step&, verdicts&);
/// I8: a stream that breaks is neither begun again nor told as if nothing had been seen.
void stream_breaks_openly(const trace_world&, const trace_step&, verdicts&);
/// I16: who is cancelled tells those who work for it; an attempt ends when nothing is held for it,
/// and a request after its attempts.
void who_ends_tells(const trace_world&, const trace_step&, verdicts&);

/// I15: a deadline that is reached is an outcome.
void deadline_ends_it(const trace_world&, const trace_step&, verdicts&);
/// I10: a rank's life that has ended is told as its group's loss, one that has been replaced is not
/// told again …
void losses_are_told(const trace_world&, const trace_step&, verdicts&);
/// I13: … and a group that misses a rank, or a life that has ended, is loaded with no attempt.
void placed_on_whole_groups(const trace_world&, const trace_step&, verdicts&);

/// I14 at the end: a source was told of no receipt that no lane has sent.
void receipts_were_sent(const trace_world&, const trace_ends&, verdicts&);
/// I15: every request of a node that closed in order has exactly one outcome.
void every_request_ends(const trace_world&, const trace_ends&, verdicts&);
/// I16: every pool that closed in order is free again, quarantine without proof aside, and no actor
/// is left.
void everything_drains(const trace_world&, const trace_ends&, verdicts&);
/// I13 at the end: all ranks of an unbroken group ran equally many steps.
void schedules_end_together(const trace_world&, const trace_ends&, verdicts&);

} // namespace invariants

/// All of the per-step functions above, in order.
void look_at(const trace_world& world, const trace_step& step, verdicts& out);
void look_at_end(const trace_world& world, const trace_ends& ends, verdicts& out);

} // namespace baton::protocol
