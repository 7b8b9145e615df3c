#include "protocol/trace_replay.hpp"

#include "protocol/assert.hpp"
#include "protocol/attempt.hpp"
#include "protocol/block_pool.hpp"
#include "protocol/feed.hpp"
#include "protocol/lane.hpp"
#include "protocol/limits.hpp"
#include "protocol/membership.hpp"
#include "protocol/rank_group.hpp"
#include "protocol/request.hpp"
#include "protocol/reservation.hpp"
#include "protocol/source_hold.hpp"

#include <algorithm>
#include <stdexcept>

namespace baton::protocol {

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names)
    text += (text.empty() ? "" : ", ") + name;
  return "[" + text + "]";
}

// -- what a wrong trace may hold and a machine relies on without asserting ------------------------

std::string objection(const grant& g) {
  return g.prompt_blocks > g.blocks.size() ? "the grant has more prompt blocks than blocks" : "";
}
std::string objection(const reserve_granted& e) { return objection(e.granted); }
std::string objection(const start_prefill& e) { return objection(e.granted); }
std::string objection(const begin_reservation& e) { return objection(e.opened.granted); }
std::string objection(const begin_hold& e) { return objection(e.opened.asked); }
std::string objection(const form_pool& e) {
  return e.blocks > limits::pool_blocks_max ? "more blocks than a pool may have" : "";
}
std::string objection(const form_group& e) {
  return e.ranks > limits::ranks_per_group_max ? "more ranks than a group may have" : "";
}
template <class Event>
std::string objection(const Event&) {
  return "";
}

template <class State>
std::string objection_in(const State&, rank_id) {
  return "";
}
std::string objection_in(const rank_group::state& s, rank_id rank) {
  const std::size_t ranks = std::visit(
    [](const auto& in) {
      if constexpr (std::is_same_v<std::decay_t<decltype(in)>, rank_group::nascent>)
        return std::size_t{0};
      else
        return in.data.lives.size();
    },
    s);
  return rank.value < ranks ? "" : "the group has no rank " + std::to_string(rank.value);
}

template <class Event, class = void>
inline constexpr bool names_rank = false;
template <class Event>
inline constexpr bool
  names_rank<Event, std::enable_if_t<std::is_same_v<decltype(Event::rank), rank_id>>> = true;

/// "" when the machine may be stepped with the event.
template <class State, class Event>
std::string objection_to(const State& state, const Event& event) {
  return std::visit(
    [&](const auto& e) {
      std::string why = objection(e);
      if constexpr (names_rank<std::decay_t<decltype(e)>>)
        why = why.empty() ? objection_in(state, e.rank) : why;
      return why;
    },
    event);
}

// -- one machine ----------------------------------------------------------------------------------

template <class State, class Event, auto Step, auto Name>
class machine_of final : public replayed_machine {
public:
  std::optional<replay_difference> take(const trace_record& record) override {
    if (record.before == Name(State{}) && is_terminal(record.machine, Name(state_)))
      state_ = State{}; // the actor's key is used again
    if (record.before != Name(state_))
      return replay_difference{"the state before", Name(state_), record.before};
    json form = record.event;
    form["type"] = record.message;
    const auto event = from_json<Event>(form);
    if (!event)
      return cannot("its event does not read: " + event.error().text);
    const std::string why = objection_to(state_, event.value());
    return why.empty() ? step(record, event.value()) : cannot(why);
  }

  std::string state_name() const override { return Name(state_); }

private:
  static replay_difference cannot(const std::string& why) {
    return {"a legal event", "an event that the machine can take", why};
  }

  std::optional<replay_difference> step(const trace_record& record, const Event& event) {
    const replay_assertions throwing;
    std::vector<std::string> effects;
    try {
      auto result = Step(std::move(state_), event, instant{record.begin_ns});
      state_ = std::move(result.state);
      for (const auto& effect : result.effects)
        effects.push_back(std::visit([](const auto& e) { return std::string(e.type); }, effect));
    } catch (const assertion_broken& broken) {
      return cannot("asserted " + broken.what);
    } catch (const std::exception& e) {
      return cannot(e.what());
    }
    if (record.after != Name(state_))
      return replay_difference{"the state after", Name(state_), record.after};
    if (record.effects != effects)
      return replay_difference{"the effects", joined(effects), joined(record.effects)};
    return {};
  }

  State state_;
};

template <class State, class Event, auto Step, auto Name>
std::unique_ptr<replayed_machine> made() {
  return std::make_unique<machine_of<State, Event, Step, Name>>();
}

/// What the tools know of a kind of machine.
struct machine_kind {
  const char* name;
  std::unique_ptr<replayed_machine> (*make)();
  std::vector<const char*> terminal; ///< empty: it lives as long as its node
};

const std::vector<machine_kind>& kinds() {
  static const std::vector<machine_kind> all = {
    {"pool", made<pool::state, pool::event, &pool::step, &pool::name_of>, {}},
    {"reservation",
     made<reservation::state, reservation::event, &reservation::step, &reservation::name_of>,
     {"reclaimed"}},
    {"lane", made<lane::state, lane::event, &lane::step, &lane::name_of>, {"retired"}},
    {"feed", made<feed::state, feed::event, &feed::step, &feed::name_of>, {"received", "stopped"}},
    {"source_hold",
     made<source_hold::state, source_hold::event, &source_hold::step, &source_hold::name_of>,
     {"released"}},
    {"attempt", made<attempt::state, attempt::event, &attempt::step, &attempt::name_of>,
     {"drained"}},
    {"request", made<request::state, request::event, &request::step, &request::name_of>, {"gone"}},
    {"rank_group",
     made<rank_group::state, rank_group::event, &rank_group::step, &rank_group::name_of>, {}},
    {"membership",
     made<membership::state, membership::event, &membership::step, &membership::name_of>, {}},
  };
  return all;
}

const machine_kind* kind_of(const std::string& machine) {
  for (const auto& kind : kinds())
    if (machine == kind.name)
      return &kind;
  return nullptr;
}

} // namespace

std::unique_ptr<replayed_machine> make_replayed(const std::string& machine) {
  const machine_kind* kind = kind_of(machine);
  return kind == nullptr ? nullptr : kind->make();
}

bool is_terminal(const std::string& machine, const std::string& state) {
  const machine_kind* kind = kind_of(machine);
  return kind != nullptr
         && std::any_of(kind->terminal.begin(), kind->terminal.end(),
                        [&](const char* name) { return state == name; });
}

bool is_mortal(const std::string& machine) {
  const machine_kind* kind = kind_of(machine);
  return kind != nullptr && !kind->terminal.empty();
}

std::optional<replay_difference> trace_replay::see(std::uint32_t actor,
                                                   const trace_record& record) {
  if (record.machine.empty())
    return {};
  const auto [it, fresh] = actors_.try_emplace(actor);
  if (fresh)
    it->second = {record.machine, make_replayed(record.machine)};
  if (fresh && it->second.machine == nullptr)
    return replay_difference{"the machine", "a known name", record.machine};
  if (it->second.machine == nullptr)
    return {};
  auto difference = record.machine == it->second.kind
                      ? it->second.machine->take(record)
                      : replay_difference{"the machine", it->second.kind, record.machine};
  if (difference)
    it->second.machine = nullptr;
  return difference;
}

} // namespace baton::protocol
