// A whole cluster as a value: copied, compared, hashed, and moved on by one action at a time. The
// actors are protocol/'s machines; what is not ours to prove (devices, kernels, the network) is
// here the worst that the contract allows: posted reads land whenever they like, kernels run until
// they have said otherwise, control messages are lost, repeated and overtaken.
#pragma once

#include "tests/sim/parts.hpp"
#include "tests/sim/samples.hpp"

#include <optional>

namespace baton::sim {

/// How much may go wrong in one run. The explorer tries every way to spend it.
struct budgets {
  std::uint8_t losses = 0;     ///< control messages or notices lost
  std::uint8_t copies = 0;     ///< … delivered and kept to be delivered again
  std::uint8_t crashes = 0;    ///< of a whole group
  std::uint8_t cancels = 0;    ///< by a client
  std::uint8_t expiries = 0;   ///< a clock reaches the end of a lease
  std::uint8_t impatience = 0; ///< a timer that asks again fires although nothing was lost
  std::uint8_t spoils = 0;     ///< a posted read ends with wrong bytes (below 128)
  /// Steps that are not the dullest one, faults included; any_number: no bound. With a bound mail
  /// is a queue: its head may be delayed behind all the rest, as one deviation.
  std::uint8_t deviations = 0xff;
  std::uint8_t silences = 0; ///< mapped: a writer is not heard until its pages are replaced
};
inline constexpr std::uint8_t any_number = 0xff;

struct world_setup {
  std::string name;
  cluster_shape shape;
  std::vector<request_plan> requests;
  budgets may;
  bool overtaking = true; ///< messages of one pair of actors overtake each other on the network
  bool merging = false;      ///< for searching: equal messages under way are one
  bool local_queues = false; ///< mailboxes of one node's actors interleave; else one runs to rest
  std::uint8_t generations_max = 0; ///< runs that grant a block more often are cut; 0: none are
  bool first_only = false; ///< the first request alone meets losses, copies and cancels
  bool reduced = false;    ///< for searching: requests that do not meet are not interleaved
};

/// What a feed was opened with; null once it has ended.
const protocol::open_feed* opened_of(const protocol::feed::state& state);

class world {
public:
  using writer_word
    = std::variant<protocol::writer_stopped, protocol::process_reaped, protocol::pages_replaced>;
  class observer;
  world(catalogue& known, const world_setup& setup, observer* watching = nullptr);

  /// All that can happen next, dullest first.
  void enabled(std::vector<action>& out) const;
  void apply(const action& a);

  /// "" or the sentence of the first broken invariant ("I3: …").
  const std::string& broken() const { return broken_; }
  /// From now on only an assertion ends the run, for a judge of what the machines say.
  void look_away() { judging_ = false; }
  /// Cut: a block has been granted more often than the setup wants to follow.
  bool cut() const { return cut_; }
  /// True when not_drained would be empty.
  bool drained() const;
  /// Whatever is not at rest; empty when all requests have ended and all memory is free (I15, I16).
  std::vector<std::string> not_drained() const;

  // commuting.cpp: which requests can be looked at one after the other (docs/searching.md)
  /// The request whose actors alone an action concerns; none: nobody's, or nobody knows.
  std::optional<std::uint8_t> request_of(const action& a) const;
  /// True when requests meet in nothing but their pools' ledgers, now and until one is admitted.
  bool is_separable() const;
  /// True when the request asks no pool for room any more, whatever happens.
  bool is_settled(std::uint8_t request) const;
  /// Of the last action.
  const footprint& touched() const { return touched_; }
  /// Nothing but timers and faults could happen.
  bool rests() const;
  /// The same for worlds that differ in the order of free blocks alone.
  std::uint64_t rest_hash() const;

  /// The canonical bytes of everything that decides what can still happen.
  void save(std::vector<std::uint32_t>& out) const;
  void load(const std::uint32_t*& in);

  /// The same for equal worlds in any process: what the numbers of states and messages stand for.
  std::uint64_t fingerprint() const;

  /// Stops all faults: crashed groups are restarted, nothing is lost any more.
  void heal();

  /// What an action would do, for people: "reservation D0/1 <- lane_stopped from lane D0/1 0>0".
  std::string describe(const action& a) const;

  const std::vector<party>& parties() const { return parties_; }
  const std::vector<client_row>& clients() const { return clients_; }
  catalogue& known() const { return *known_; }

  /// Told of every step of a machine, when set.
  class observer {
  public:
    virtual ~observer() = default;
    virtual void stepped(const world& w, std::uint32_t who, std::uint32_t from,
                         std::uint32_t before, std::uint32_t event, const reaction& made)
      = 0;
    /// What a decode rank hears of those who write its memory, before anyone acts on it.
    virtual void heard(const world&, const address& /*rank*/, const writer_word&) {}
  };
  void watch(observer* o) { observer_ = o; }

  /// The message that a machine is stepped with just now. Its cause is 0 from a device or timer.
  struct identity {
    std::uint32_t id = 0; ///< never used twice in a run
    std::uint32_t cause = 0;
  };
  const identity& handling() const { return handling_; }
  /// Messages that machines have handled so far.
  std::uint64_t handled() const { return handled_; }
  std::int64_t clock_of(std::uint32_t who) const;
  const world_setup& setup() const { return *setup_; }

private:
  using what = action::what;

  // world.cpp: mail, machines
  party* find(std::uint32_t who);
  const party* find(std::uint32_t who) const;
  void post(mail m);
  bool merge(const mail& m);
  bool goes_nowhere(const mail& m) const;
  void settle(); ///< local mail, until none is left
  void deliver(const mail& m);
  void hand_over(const mail& m);
  void step(party& p, std::uint32_t from, std::uint32_t event);
  void run(std::uint32_t self, const command& c);
  void begin(const mail& m);
  void note_receipt(std::uint32_t feed, std::uint32_t before);
  void tell(std::uint32_t from, std::uint32_t to, kind event_of, std::uint32_t event);
  void start(std::uint32_t from, const command& c);

  // ranks.cpp: what a rank's transfer device does with words for lanes and feeds
  void at_lane_rank(const mail& m);
  void at_feed_rank(const mail& m);
  std::uint32_t& floor_of(const address& a);
  void place(std::uint32_t attempt);
  void end(std::uint32_t who);
  bool lives(std::uint32_t who) const;
  void breach(std::string sentence);

  const protocol::open_feed* opened_feed(std::uint32_t who) const;
  const protocol::open_lane* opened_lane(std::uint32_t who) const;

  // devices.cpp: tables of grants, landings, kernels
  void admit(std::uint32_t lane);
  void revoke(std::uint32_t lane);
  void offered(const mail& m);
  void land(std::size_t row, std::uint32_t piece);
  void fail_read(std::size_t row, std::uint32_t piece, const protocol::failure& why);
  void quiesce_if_idle(std::size_t row);
  void notify(const table_row& row, letter what);
  void queried(const mail& m);
  void noticed(const mail& m);
  void compute(std::size_t index, std::uint8_t rank);
  void compute_prefill(std::size_t index, std::uint8_t rank);
  void has_computed(std::size_t index, std::uint8_t rank);
  void compute_decode(std::size_t index);
  void say_ready(const sequence_row& s, std::uint8_t rank);
  std::uint32_t ready_for(const party& feed, const protocol::open_feed& opened);
  void watch_sequence(const party& feed);
  void begin_sequence(std::uint32_t holder, std::uint32_t payload);
  void cancel_sequence(std::uint32_t holder, std::uint32_t number);
  void quiesced(std::size_t index);

  // mapped.cpp: ranks that compute into the memory of others, and how they have stopped
  bool is_mapped() const { return setup_->shape.mapped; }
  std::size_t rank_index(std::uint8_t group, std::uint8_t rank) const;
  std::uint8_t& cut_off(std::uint8_t group, std::uint8_t rank, std::uint32_t block);
  bool reaches(const sequence_row& s, std::uint8_t rank, std::uint32_t block) const;
  bool may_write(const sequence_row& s, std::uint32_t block) const;
  bool begin_mapped(sequence_row& s);
  void compute_mapped(std::size_t index, std::uint8_t rank);
  void write_mapped(const sequence_row& s, std::uint8_t rank);
  void check_written(const table_row& row, std::uint32_t piece);
  void say_what_ended(std::size_t sequence, std::uint8_t rank);
  protocol::failure begin_written(std::uint32_t lane);
  void note_unread(const mail& stop);
  void reader_ended(std::uint32_t lane);
  void forget_lane(std::uint32_t lane);
  void ask_writers(const address& rank);
  void writers_due(const address& rank);
  void replace_pages(std::uint32_t lane);
  void all_stopped(const std::vector<protocol::lane_id>& lanes);
  void between_ranks(const mail& m);
  void asked_writer(const mail& m);
  void asked_hold(const mail& m);
  void hold_is_gone(const mail& m);
  void end_at_ranks(std::uint32_t hold, std::uint32_t sequence);
  void end_at_rank(group_life home, std::uint8_t rank, std::uint32_t sequence);
  void say_stopped(const address& rank, const std::vector<protocol::lane_writers::said>& all);
  void meet_feed(const mail& m, std::uint32_t answer);
  void leave_dead(std::uint8_t group);
  void reap(std::size_t index);
  void tell_ended(const protocol::incarnation& life, protocol::process_end how);
  bool may_be_outwaited(std::uint8_t group, std::uint8_t rank) const;
  void outwait(std::uint8_t group, std::uint8_t rank);
  void add_mapped(std::vector<action>& out) const;
  void add_silences(std::vector<action>& out) const;

  // world_bytes.cpp
  std::size_t words_max() const;
  void save_devices(std::uint32_t*& at) const;
  void save_mapped(std::uint32_t*& at) const;
  void load_sequences(const std::uint32_t*& in);
  void load_mapped(const std::uint32_t*& in);

  // commuting.cpp
  std::optional<std::uint8_t> owner_of(std::uint32_t who) const;
  std::optional<std::uint8_t> request_of(const mail& m) const;
  std::uint32_t* owners_of(group_life home);
  void note_owner(const mail& begun);
  void note_touch(const party& p, std::uint32_t event, bool changed);
  bool holds(group_life home, std::uint64_t number) const;
  bool is_current(const mail& m) const;
  bool asks_for_room(const mail& m) const;

  // actions.cpp
  bool has_been_placed(const party& p) const;
  bool waits_for_clock(const timer& t) const;
  bool is_deadline(const timer& t) const;
  bool may_arrive(std::size_t index) const;
  bool may_be_delayed() const;
  bool is_enabled(const timer& t, bool idle) const;
  std::int64_t left_ms(const timer& t) const { return t.due_ms - clock_of(t.who); }
  void pass_time(std::int64_t ms);
  void add_ordinary(std::vector<action>& out) const;
  void add_timers(std::vector<action>& out) const;
  void add_faults(std::vector<action>& out) const;
  bool bounded() const { return left_.deviations != any_number; }
  void fire(std::size_t index);
  bool idle_before_timers() const;
  bool sequences_idle() const;

  // faults.cpp
  void crash(std::uint8_t group);
  void restart(std::uint8_t group);
  void expire(std::uint8_t group);
  void learn_loss(std::size_t attempt_index);

  // checks.cpp: judged by the devices, never by what the machines believe
  void check_changes(std::uint32_t pool, const reaction& made);
  void check_untouched(const char* done, group_life home, std::uint32_t block);
  void check_touch(const char* id, const char* who, group_life home, std::uint32_t block,
                   std::uint64_t gen);
  void check_commit(const party& p);
  void check_reads(const sequence_row& s, std::uint8_t rank);
  void check_client(std::uint32_t attempt, const command& c);
  bool block_is(group_life home, std::uint32_t block, std::uint64_t gen) const;
  std::uint16_t& memory(std::uint8_t group, std::uint8_t rank, std::uint32_t block);
  bool computing(const sequence_row& s) const;
  const work& work_of(const sequence_row& s) const { return known_->work_at(s.payload); }

  catalogue* known_;
  const world_setup* setup_;
  budgets left_;
  std::vector<party> parties_; ///< by address
  std::vector<mail> mail_;     ///< oldest first
  std::vector<timer> timers_;
  std::vector<table_row> rows_;
  std::vector<sequence_row> sequences_;
  std::vector<client_row> clients_;
  std::vector<group_row> groups_;
  std::vector<std::uint32_t> floors_; ///< by group and rank: what may not begin there any more
  std::vector<std::uint16_t> memory_; ///< by group, rank, block: who wrote it; 0: poison
  /// By group and life, four bits for each number that its pool has given: the request, from 1.
  /// Kept in reduced worlds; elsewhere empty.
  std::vector<std::uint32_t> owners_;
  mapped_devices mapped_;
  bool healed_ = false;
  std::int64_t router_ms_ = 0; ///< the router's clock
  // Not part of the state.
  std::vector<mail> local_; ///< to be delivered before the action ends
  std::string broken_;
  bool judging_ = true;
  bool cut_ = false;
  footprint touched_;
  std::uint64_t handled_ = 0;
  observer* observer_ = nullptr;
  std::uint32_t messages_ = 0; ///< so far
  identity arrived_;           ///< delivered, not yet handled
  identity handling_;
};

} // namespace baton::sim
