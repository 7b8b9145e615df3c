// One request's whole hand-off in memory: every machine of protocol/, joined by a deterministic
// router of effects to events. Devices are the few lines that a perfect device would need.
//
//   client ─ request ─ attempt ┬ pool(D3) ─ reservation ─ lane ─ transfer(D3) ═╗
//                              └ pool(P7) ─ hold ──────── feed ─ transfer(P7) ═╝
//   reservation ─ group(D3) ─ compute x TP            hold ─ group(P7) ─ compute x TP
//
// Within a node messages between two parties keep their order. One between two nodes may be lost,
// repeated, or come late: after everything else, or long after the conversation. Which pair speaks
// next, when time passes, and each such fate are the chooser's. 0 is always the dull option, so
// that a chooser of zeros is the quiet run. Each step checks I1, I2, I3, I12, I14.
#pragma once

#include "protocol/attempt.hpp"
#include "protocol/block_pool.hpp"
#include "protocol/feed.hpp"
#include "protocol/lane.hpp"
#include "protocol/lane_floor.hpp"
#include "protocol/mapped_lanes.hpp"
#include "protocol/rank_group.hpp"
#include "protocol/request.hpp"
#include "protocol/reservation.hpp"
#include "protocol/source_hold.hpp"
#include "tests/protocol/conversation_trace.hpp"
#include "tests/protocol/hand_off_samples.hpp"

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace baton::tests {

/// What may be chosen: the next sender, or the fate of a message between two nodes.
enum class choice : std::uint8_t { next, fate };
/// Fates, as numbers below fates.
enum class fate : std::uint8_t { arrives, is_lost, comes_twice, comes_late, comes_again_later };
inline constexpr std::uint32_t fates = 5;
/// Returns a number below `bound`. For `next` the last number lets time pass.
using chooser = std::function<std::uint32_t(choice what, std::uint32_t bound)>;

std::uint32_t in_order(choice what, std::uint32_t bound);

struct conversation_setup {
  hand_off_shape shape;
  std::int64_t retention_ms = 0;
  std::uint32_t pool_blocks = 8;
  std::uint32_t chunk_tokens = 4;
  std::int64_t lease_ms = sample_lease_ms;
  std::string falsified{}; ///< field of the offered manifest; "": none
  bool states_differ = false;     ///< the ranks hand over different final hidden states
  std::int64_t deadline_ms = 0; ///< of the request; 0: none
  bool landings_repeated = false; ///< the device says of each piece twice that it has landed
};

class conversation {
public:
  /// `trace` outlives it and gets a record of each handled message.
  conversation(const conversation_setup& setup, chooser choose,
               conversation_trace* trace = nullptr);

  /// Delivers one message, or lets the earliest timer fire; false when nothing is left.
  bool advance();
  /// Until nothing is left. `steps_max` bounds a conversation that does not end.
  void run(std::uint32_t steps_max = 20'000);

  void cancel(); ///< the client's word is on its way
  void expire_leases(); ///< the destination's clock reaches the end of every lease, now

  void reach_deadline(); ///< the router's clock reaches that of the request, now

  /// From now on kernels of a decode rank, where there is such a rank, end with an error; `gone`:
  /// it says nothing more, its lanes have no end, and its group hears that it is lost.
  void fail_rank(protocol::rank_id rank, bool gone);

  std::uint32_t steps() const { return steps_; }
  /// Invariants that a step broke: empty when all is well.
  const std::vector<std::string>& broken() const { return broken_; }
  /// Whatever is not at rest: empty after the end.
  std::vector<std::string> not_drained() const;
  const std::vector<protocol::frame_forwarded>& frames() const { return frames_; }
  const std::vector<protocol::request_ended>& outcomes() const { return outcomes_; }
  /// The last message between two nodes that did not simply arrive.
  const std::string& fated() const { return fated_; }
  /// Messages so far, as "from -> to: what".
  const std::vector<std::string>& log() const { return log_; }

private:
  template <class State, class Event>
  struct party {
    using event = Event;
    std::string name;
    State state;
    bool ended = false;
  };
  struct request_party : party<protocol::request::state, protocol::request::event> {};
  struct attempt_party : party<protocol::attempt::state, protocol::attempt::event> {
    std::uint32_t ordinal = 0;
  };
  struct pool_party : party<protocol::pool::state, protocol::pool::event> {};
  struct reservation_party : party<protocol::reservation::state, protocol::reservation::event> {
    protocol::grant granted;
    std::uint64_t hold = 0; ///< in place: whose offer it took
  };
  struct hold_party : party<protocol::source_hold::state, protocol::source_hold::event> {
    protocol::open_hold opened;
  };
  struct lane_party : party<protocol::lane::state, protocol::lane::event> {
    protocol::open_lane opened;
  };
  struct feed_party : party<protocol::feed::state, protocol::feed::event> {
    protocol::open_feed opened;
  };
  struct group_party : party<protocol::rank_group::state, protocol::rank_group::event> {};

  using action = std::function<void()>;
  struct message {
    std::uint64_t number = 0;
    std::string what;
    action deliver;
  };
  struct timer {
    protocol::instant due;
    std::string what;
    action fire;
    std::function<bool()> needless; ///< its party has ended
  };
  /// A sequence's blocks as they were when the group's ranks heard of it.
  using sequence_key = std::pair<std::string, protocol::sequence_id>;
  struct progress {
    std::uint32_t tokens = 0;
    bool resume = false;
  };
  /// A lane in a destination's table of grants.
  struct table_entry {
    enum class phase : std::uint8_t { open, stopping, stopped } now = phase::open;
    bool received = false;
    std::uint32_t receives = 0; ///< posted, callback not fired
    std::set<std::uint32_t> accepted; ///< pieces
  };

  // conversation.cpp: mail and time
  void send(const std::string& from, const std::string& to, const std::string& what,
            action deliver);
  /// Between two nodes.
  void send_far(const std::string& from, const std::string& to, const std::string& what,
                action deliver);
  template <class Party, class Event>
  void tell(const std::string& from, Party& to, Event event);
  template <class Party, class Event>
  void tell_far(const std::string& from, Party& to, Event event);
  template <class Party, class Event>
  void wake(Party& party, std::int64_t delay_ms, Event event);
  template <class Party, class Event>
  void take(Party& party, const Event& event);

  // conversation_router.cpp: what an effect becomes
  void run(request_party&, const protocol::request::effect&);
  void run(attempt_party&, const protocol::attempt::effect&);
  void run(pool_party&, const protocol::pool::effect&);
  void run(reservation_party&, const protocol::reservation::effect&);
  void run(hold_party&, const protocol::source_hold::effect&);
  void run(lane_party&, const protocol::lane::effect&);
  void run(feed_party&, const protocol::feed::effect&);
  void run(group_party&, const protocol::rank_group::effect&);
  void start(const protocol::start_attempt&);
  void start(pool_party&, const protocol::open_reservation&);
  void start(pool_party&, const protocol::open_hold&);
  template <class Event>
  void pass_to_reservation(pool_party& from, const Event& event);
  template <class Event>
  void pass_to_hold(pool_party& from, const Event& event);

  // conversation_ranks.cpp: how a rank begins and ends lanes and feeds
  template <class Event>
  void to_lane_rank(reservation_party& from, const Event& event);
  void take_at_rank(const protocol::open_lane&);
  void take_at_rank(const protocol::ask_lane&);
  void take_at_rank(const protocol::stop_lane&);
  template <class Event>
  void to_feed_rank(hold_party& from, const Event& event);
  void take_at_rank(hold_party& from, const protocol::open_feed&);
  void take_at_rank(hold_party& from, const protocol::ask_feed&);
  void take_at_rank(hold_party& from, const protocol::withdraw_feed&);
  void say(hold_party& to, const protocol::feed_ending& ended);
  template <class Event>
  void to_owner(group_party& from, const protocol::sequence_id& sequence, const Event& event);

  // conversation_devices.cpp: perfect devices
  void execute(group_party& group, const protocol::run_step& plan);
  void complete_step(group_party& group, protocol::rank_id rank, const protocol::run_step& plan);
  bool fails(const std::string& group, protocol::rank_id rank) const;
  void say_ready(const std::string& group, protocol::rank_id rank,
                 const protocol::sequence_id& sequence);
  void watch(feed_party& feed);
  void offer(feed_party& feed, std::uint32_t piece);
  void receive(const protocol::lane_id& lane, std::uint32_t piece);
  void land(const protocol::lane_id& lane, std::uint32_t piece);
  void revoke(lane_party& lane);
  void quiesce_if_idle(const protocol::lane_id& lane);
  void notify_source(const protocol::lane_id& lane);
  void answer_query(const protocol::lane_id& lane);

  // conversation_mapped.cpp: transfer devices of ranks that share memory
  void ask_writers(protocol::rank_id destination);
  void take_at_source(const protocol::ask_writer& e);
  void end_at_rank(hold_party& hold, protocol::rank_id rank);
  void say_stopped(protocol::rank_id rank, const std::vector<protocol::lane_writers::said>& all);
  std::uint32_t running(const protocol::attempt_id& attempt) const;

  // conversation_checks.cpp
  void check_pools();
  void check_computed(const feed_party& feed, std::uint32_t piece);
  void check_reclaim(const pool_party& pool, const protocol::reservation_id& id);
  void check_reading(const std::string& why, const std::string& pool,
                     const std::vector<protocol::block_ref>& refs);
  bool holds(const std::string& pool, const protocol::block_ref& ref) const;
  void breach(const std::string& sentence);

  std::string source_group() const { return setup_.shape.in_place ? "D3" : "P7"; }
  std::uint32_t degree_of(const std::string& group) const;
  /// Whose pool's blocks the group's kernels work on.
  std::string memory_of(const std::string& group) const {
    return setup_.shape.mapped && group == "P7" ? "D3" : group;
  }

  conversation_setup setup_;
  chooser choose_;
  conversation_trace* trace_ = nullptr;
  protocol::instant now_;
  std::uint64_t next_number_ = 0;
  std::uint32_t steps_ = 0;
  std::map<std::pair<std::string, std::string>, std::deque<message>> mail_;
  std::vector<timer> timers_;

  request_party request_;
  std::map<std::uint32_t, attempt_party> attempts_;
  std::map<std::string, pool_party> pools_;
  std::map<std::string, group_party> groups_;
  std::map<std::uint64_t, reservation_party> reservations_;
  std::map<std::uint64_t, hold_party> holds_;
  std::map<protocol::lane_id, lane_party> lanes_;
  std::map<protocol::lane_id, feed_party> feeds_;

  std::map<protocol::lane_id, table_entry> table_;
  std::map<protocol::rank_id, protocol::lane_floor> lane_floors_; ///< of destination ranks
  std::map<protocol::rank_id, protocol::lane_floor> feed_floors_; ///< of source ranks
  std::map<protocol::rank_id, protocol::written_lanes> written_; ///< of destination ranks
  std::map<protocol::rank_id, protocol::lane_writers> writers_;  ///< of source ranks
  std::set<protocol::rank_id> asking_; ///< destination ranks whose timer runs
  std::map<sequence_key, std::vector<protocol::block_ref>> sequences_;
  std::map<std::pair<sequence_key, protocol::rank_id>, progress> progress_;
  std::optional<protocol::rank_id> failed_rank_; ///< of D3
  bool failed_rank_is_gone_ = false;
  std::map<sequence_key, std::uint32_t> kernels_; ///< of each sequence, running now on any rank

  std::vector<protocol::frame_forwarded> frames_;
  std::vector<protocol::request_ended> outcomes_;
  std::vector<std::string> broken_;
  std::vector<std::string> log_;
  std::string fated_;
};

} // namespace baton::tests
