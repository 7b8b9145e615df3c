// Every state and message that a run has met, each once, under a number; and what each machine's
// step makes of them. Steps are pure, so a step is computed once and then looked up: that is what
// lets the product's own code be searched at a million steps a second.
#pragma once

#include "protocol/attempt.hpp"
#include "protocol/block_pool.hpp"
#include "protocol/feed.hpp"
#include "protocol/lane.hpp"
#include "protocol/lane_floor.hpp"
#include "protocol/mapped_lanes.hpp"
#include "protocol/request.hpp"
#include "protocol/reservation.hpp"
#include "protocol/source_hold.hpp"
#include "tests/sim/address.hpp"
#include "tests/sim/encode.hpp"
#include "tests/sim/looked_up.hpp"

#include <deque>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace baton::sim {

template <class State, class Event, class Effect>
struct machine {
  using state = State;
  using event = Event;
  using effect = Effect;
};

/// In the order of `kind`.
using machines = std::tuple<
  machine<protocol::request::state, protocol::request::event, protocol::request::effect>,
  machine<protocol::attempt::state, protocol::attempt::event, protocol::attempt::effect>,
  machine<protocol::pool::state, protocol::pool::event, protocol::pool::effect>,
  machine<protocol::reservation::state, protocol::reservation::event,
          protocol::reservation::effect>,
  machine<protocol::source_hold::state, protocol::source_hold::event,
          protocol::source_hold::effect>,
  machine<protocol::lane::state, protocol::lane::event, protocol::lane::effect>,
  machine<protocol::feed::state, protocol::feed::event, protocol::feed::effect>>;

template <kind K>
using machine_of = std::tuple_element_t<static_cast<std::size_t>(K), machines>;

/// One value under each number; an equal value has the same number.
template <class T>
class interned {
public:
  std::uint32_t put(const T& value) {
    buffer_.clear();
    encode(buffer_, value);
    const auto [it, added] = ids_.try_emplace(buffer_, static_cast<std::uint32_t>(values_.size()));
    if (added)
      values_.push_back(value);
    return it->second;
  }
  const T& at(std::uint32_t id) const { return values_[id]; }
  std::size_t size() const { return values_.size(); }

private:
  std::deque<T> values_;
  std::unordered_map<bytes, std::uint32_t> ids_;
  bytes buffer_;
};

/// What an effect asks of the simulated node.
enum class op : std::uint8_t {
  send,            ///< event `number` to `to`
  open,            ///< the same, and its actor starts with it
  send_to_contact, ///< event `number` to the actor's contact `to`
  arm,             ///< event `number` to itself after `ms`
  place,           ///< attempt: choose groups
  admit,           ///< lane: into the device's table
  revoke,
  receipt,
  offer, ///< feed: piece `number`
  query,
  prefill, ///< payload `number`
  decode,  ///< payload `number`
  cancel_sequence,
  end_sequence, ///< hold: each rank may forget sequence `number`
  frame, ///< to the client: frame `number` of attempt `to`
  outcome, ///< to the client: kind `number`
  end
};

/// Whom an actor has learned to speak to; addresses, packed. Field numbers name them in commands.
struct contacts {
  std::uint32_t decode_pool = 0;
  std::uint32_t prefill_pool = 0;
  std::uint32_t hold = 0;
};
enum class contact : std::uint32_t { decode_pool, prefill_pool, hold };

struct command {
  op what = op::send;
  kind event_of = kind::request; ///< whose event `number` is
  std::uint32_t to = 0;          ///< packed address, or a `contact`
  std::uint32_t number = 0;
  std::int64_t ms = 0;
};

/// A block that changed hands in a pool's step.
struct block_change {
  std::uint32_t block = 0;
  enum class to : std::uint8_t { free, leased, live, quarantined } now = to::free;
  std::uint64_t gen = 0;
  std::uint64_t holder = 0; ///< the one that had it, for `free`
};

/// What one step made: looked up, never computed twice. Small, and kept beside the step's key: a
/// look-up is most of a simulated step, and waits for memory.
struct reaction {
  std::uint32_t next = 0; ///< state
  std::uint32_t first_command = 0;
  std::uint32_t first_change = 0; ///< of a pool
  std::uint32_t broken = 0; ///< sentence of an assertion or a local invariant that failed; 0: none
  std::uint16_t commands = 0;
  std::uint16_t changes = 0;
  bool asserted = false; ///< the first of the two: there is no next state
  bool commits = false;  ///< a reservation becomes live
  bool received = false; ///< a feed ends by its reader's receipt
};

/// What groups compute; the blocks are those of the actor's own pool.
struct work {
  std::uint64_t sequence = 0;
  protocol::attempt_id attempt;
  std::vector<protocol::block_id> blocks;
  std::uint32_t tokens = 0; ///< to emit; 0: prefill
};

using block_table = std::vector<protocol::block_ref>;

/// Shape of the simulated cluster that machines have to be told.
struct cluster_shape {
  std::uint8_t prefill_groups = 1;
  std::uint8_t decode_groups = 1;
  std::uint8_t prefill_ranks = 2;
  std::uint8_t decode_ranks = 2;
  std::uint32_t lease_ms = 1'000;
  std::uint32_t retention_ms = 0;
  std::uint32_t prefill_blocks = 2;
  std::uint32_t decode_blocks = 2;
  std::uint32_t decode_slots = 2;
  std::uint32_t waiting_max = 2;
  bool mapped = false; ///< prefill ranks compute into the decode ranks' memory

  std::uint8_t groups() const { return static_cast<std::uint8_t>(prefill_groups + decode_groups); }
  bool decodes(std::uint8_t group) const { return group >= prefill_groups; }
  std::uint8_t ranks(std::uint8_t group) const {
    return decodes(group) ? decode_ranks : prefill_ranks;
  }
};

class catalogue {
public:
  explicit catalogue(const cluster_shape& shape) : shape_(shape) {
    blocks_.put({});
    floors_.put({});
    written_.put({});
    writers_.put({});
    slots_.resize(1U << 12);
  }

  const cluster_shape& shape() const { return shape_; }

  template <kind K>
  std::uint32_t put_state(const typename machine_of<K>::state& s) {
    return std::get<static_cast<std::size_t>(K)>(tables_).states.put(s);
  }
  template <kind K>
  std::uint32_t put_event(const typename machine_of<K>::event& e) {
    return std::get<static_cast<std::size_t>(K)>(tables_).events.put(e);
  }
  template <kind K>
  const typename machine_of<K>::state& state(std::uint32_t id) const {
    return std::get<static_cast<std::size_t>(K)>(tables_).states.at(id);
  }
  template <kind K>
  const typename machine_of<K>::event& event(std::uint32_t id) const {
    return std::get<static_cast<std::size_t>(K)>(tables_).events.at(id);
  }
  std::uint32_t put_work(const work& w) { return works_.put(w); }
  const work& work_at(std::uint32_t id) const { return works_.at(id); }
  std::uint32_t put_blocks(const block_table& t) { return blocks_.put(t); }
  const block_table& blocks_at(std::uint32_t id) const { return blocks_.at(id); }
  std::uint32_t put_floor(const protocol::lane_floor& f) { return floors_.put(f); }
  const protocol::lane_floor& floor_at(std::uint32_t id) const { return floors_.at(id); }
  std::uint32_t put_written(const protocol::written_lanes& w) { return written_.put(w); }
  const protocol::written_lanes& written_at(std::uint32_t id) const { return written_.at(id); }
  std::uint32_t put_writers(const protocol::lane_writers& w) { return writers_.put(w); }
  const protocol::lane_writers& writers_at(std::uint32_t id) const { return writers_.at(id); }
  std::uint32_t put_question(const protocol::ask_writer& q) { return questions_.put(q); }
  const protocol::ask_writer& question_at(std::uint32_t id) const { return questions_.at(id); }

  /// What `make` gives, or gave for the same `a` and `b`.
  template <class Make>
  std::uint32_t look_up(follows what, std::uint32_t a, std::uint32_t b, const Make& make) {
    return looked_up_.get(what, a, b, make);
  }

  /// The step of `self`'s machine. `now_ms` is that node's clock.
  reaction react(std::uint32_t self, std::uint32_t state, std::uint32_t event,
                        std::int64_t now_ms);

  const command& command_at(std::uint32_t i) const { return commands_[i]; }
  const block_change& change_at(std::uint32_t i) const { return changes_[i]; }
  /// "" when nothing is broken.
  const std::string& sentence(const reaction& r) const { return sentences_[r.broken]; }

  /// First state of a kind of machine.
  std::uint32_t nascent(kind what);

  std::string state_name(kind what, std::uint32_t id) const;
  const char* event_name(kind what, std::uint32_t id) const;

  /// Distinct steps met so far.
  std::size_t steps() const { return steps_; }

private:
  template <class Machine>
  struct table {
    interned<typename Machine::state> states;
    interned<typename Machine::event> events;
  };
  template <class Tuple>
  struct tables_of;
  template <class... Machines>
  struct tables_of<std::tuple<Machines...>> {
    using type = std::tuple<table<Machines>...>;
  };
  struct step_key {
    std::uint32_t self, state, event;
    std::int64_t now_ms;

    friend bool operator==(const step_key& a, const step_key& b) {
      return a.self == b.self && a.state == b.state && a.event == b.event && a.now_ms == b.now_ms;
    }
  };
  struct step_slot {
    step_key key{};
    reaction made;
    bool taken = false;
  };
  struct sayings { ///< of a step that is being computed
    std::vector<command> commands;
    std::vector<block_change> changes;
    std::string broken;
  };
  std::size_t slot_of(const step_key& k) const;
  void grow();

  template <kind K>
  reaction compute(const address& self, std::uint32_t state, std::uint32_t event,
                   std::int64_t now_ms);
  void keep(reaction& r, const sayings& said);

  cluster_shape shape_;
  tables_of<machines>::type tables_;
  interned<work> works_;
  interned<block_table> blocks_;
  interned<protocol::lane_floor> floors_;
  interned<protocol::written_lanes> written_;
  interned<protocol::lane_writers> writers_;
  interned<protocol::ask_writer> questions_; ///< of a lane's writer
  looked_up looked_up_;
  std::vector<command> commands_;     ///< of all reactions
  std::vector<block_change> changes_; ///< of all reactions
  std::vector<std::string> sentences_{""};
  std::vector<step_slot> slots_; ///< open addressing
  std::size_t steps_ = 0;
};

/// Calls `f` with the kind as a constant.
template <class F>
decltype(auto) with_kind(kind what, F&& f) {
  switch (what) {
  case kind::request: return f(std::integral_constant<kind, kind::request>{});
  case kind::attempt: return f(std::integral_constant<kind, kind::attempt>{});
  case kind::pool: return f(std::integral_constant<kind, kind::pool>{});
  case kind::reservation: return f(std::integral_constant<kind, kind::reservation>{});
  case kind::hold: return f(std::integral_constant<kind, kind::hold>{});
  case kind::lane: return f(std::integral_constant<kind, kind::lane>{});
  case kind::feed: break;
  }
  return f(std::integral_constant<kind, kind::feed>{});
}

} // namespace baton::sim
