#include "tests/sim/recorder.hpp"

#include "protocol/assert.hpp"
#include "protocol/step.hpp"

namespace baton::sim {

using namespace protocol;

namespace {

constexpr const char* machine_names[kinds]
  = {"request", "attempt", "pool", "reservation", "source_hold", "lane", "feed"};

std::string number_text(const request_id& id) { return to_string(id).substr(20); }

template <class Event>
const char* type_of(const Event& event) {
  return std::visit([](const auto& e) { return std::decay_t<decltype(e)>::type; }, event);
}

template <class E, class = void>
inline constexpr bool names_attempt = false;
template <class E>
inline constexpr bool
  names_attempt<E, std::enable_if_t<std::is_same_v<decltype(E::attempt), attempt_id>>> = true;

/// The attempt that a message is about; none for most of a pool's.
struct attempt_finder {
  std::optional<attempt_id> operator()(const begin_reservation& e) const {
    return e.opened.granted.attempt;
  }
  std::optional<attempt_id> operator()(const begin_hold& e) const { return e.opened.asked.attempt; }
  template <class E>
  std::optional<attempt_id> operator()(const E& e) const {
    if constexpr (names_attempt<E>)
      return e.attempt;
    else
      return std::nullopt;
  }
};

} // namespace

// ---- who and where ------------------------------------------------------------------------------

std::string recorder::node_name(const address& a) const {
  const node n = node_of(a);
  if (n.value == 0)
    return "router";
  return group_text({a.home.group, 0}, shape_.prefill_groups) + "."
         + std::to_string((n.value - 1) % 4);
}

/// As actors/labels.hpp makes them, from those digits that differ in a simulation.
std::string recorder::label(const address& a) const {
  const std::string kind = std::string(machine_names[static_cast<std::size_t>(a.what)]) + "/";
  const auto lane = [&](group_life owner) {
    return kind + std::to_string(a.number) + "@" + group_text(owner, shape_.prefill_groups) + ":"
           + std::to_string(a.source) + "-" + std::to_string(a.destination);
  };
  const auto request = [](std::uint32_t index) {
    return number_text(request_id_of(static_cast<std::uint16_t>(index)));
  };
  switch (a.what) {
  case kind::request: return kind + request(a.number);
  case kind::attempt:
    return kind + request(a.number / 8U) + "." + std::to_string(a.number % 8);
  case kind::pool: return kind + group_text({a.home.group, 0}, shape_.prefill_groups);
  case kind::lane: return lane(a.home);
  case kind::feed: return lane(a.peer);
  default: return kind + std::to_string(a.number);
  }
}

std::size_t recorder::open(const std::string& name, const incarnation& life) {
  const auto [it, fresh] = section_by_life_.try_emplace({name, life}, 0);
  if (fresh) {
    trace_header header;
    header.node = {name};
    header.life = life;
    header.cluster = "simulated";
    it->second = made_.open(std::move(header));
  }
  return it->second;
}

/// A group's nodes all begin with the first word of one of them.
std::size_t recorder::section_of(const address& a) {
  if (node_of(a).value == 0)
    return open("router", {0xff, 1});
  const auto rank = static_cast<std::uint8_t>((node_of(a).value - 1) % 4);
  if (section_by_life_.count({node_name(a), life_of(a.home, rank)}) == 0) {
    auto& up = up_[a.home.group];
    up.clear();
    for (std::uint8_t r = 0; r < shape_.ranks(a.home.group); ++r)
      up.push_back(open(group_text({a.home.group, 0}, shape_.prefill_groups) + "."
                          + std::to_string(r),
                        life_of(a.home, r)));
  }
  return open(node_name(a), life_of(a.home, rank));
}

void recorder::acts(const world&, const action& a) {
  if (a.kind == action::what::crash)
    for (const std::size_t section : up_[static_cast<std::uint8_t>(a.index)])
      made_.close(section, section_end::cut);
}

/// A run that broke off stands still as if its nodes had flushed; one that came to rest has ended,
/// whether or not everything had drained.
recording recorder::result(const run_result& run) {
  const std::string broken = invariant_of(run.broken);
  const bool ended = broken.empty() || broken == "I15" || broken == "I16";
  made_.extent = ended ? trace_extent::whole : trace_extent::partial;
  for (const auto& [life, section] : section_by_life_)
    made_.close(section, ended ? section_end::closed : section_end::flushed);
  made_.index();
  return std::move(made_);
}

// ---- records ------------------------------------------------------------------------------------

void recorder::stepped(const world& w, std::uint32_t who, std::uint32_t from, std::uint32_t before,
                       std::uint32_t event, const reaction&) {
  shape_ = w.setup().shape;
  const address a = address::unpacked(who);
  with_kind(a.what, [&](auto k) { note<k.value>(w, a, from, before, event); });
}

template <class Event>
recorder::subject recorder::about(const address& who, const Event& event) {
  if (who.what == kind::request || who.what == kind::attempt)
    return {request_id_of(static_cast<std::uint16_t>(
              who.what == kind::request ? who.number : who.number / 8)),
            who.what == kind::request ? about_[who.packed()].attempt : who.number % 8U};
  const auto found = std::visit(attempt_finder{}, event);
  if (who.what == kind::pool)
    return found ? subject{found->request, found->ordinal} : subject{};
  if (found)
    about_[who.packed()] = {found->request, found->ordinal};
  return about_[who.packed()];
}

/// The machine's own step, for its effects by name. An assertion that fails ends the process before
/// it has recorded; here the message is kept, for replay to fail on it again.
template <kind K>
void recorder::note_effects(const typename machine_of<K>::state& before,
                            const typename machine_of<K>::event& event, trace_record& record) {
  const replay_assertions throwing;
  try {
    const auto made = step(before, event, {record.begin_ns});
    record.after = name_of(made.state);
    for (const auto& effect : made.effects)
      record.effects.emplace_back(type_of(effect));
    if constexpr (K == kind::reservation)
      for (const auto& effect : made.effects)
        if (const auto* e = std::get_if<activate_sequence>(&effect))
          commit_by_attempt_[e->attempt] = record.header.id;
    if constexpr (K == kind::request)
      for (const auto& effect : made.effects)
        std::visit(overloaded{
                     [&](const start_attempt& e) {
                       about_[request_address(e.attempt.request).packed()].attempt
                         = e.attempt.ordinal;
                     },
                     [&](const frame_forwarded& e) { at_client(e, record); },
                     [&](const request_ended& e) { at_client(e, record); },
                     [](const auto&) {},
                   },
                   effect);
  } catch (const assertion_broken&) {
    record.after = record.before;
  }
}

template <kind K>
void recorder::note(const world& w, const address& who, std::uint32_t from, std::uint32_t before,
                    std::uint32_t event_number) {
  const auto& was = w.known().state<K>(before);
  const auto& event = w.known().event<K>(event_number);
  const subject s = about(who, event);
  const address sender = address::unpacked(from);
  trace_record record;
  record.header = {w.handling().id, w.handling().cause, node_name(sender) + ":" + label(sender), 0};
  record.actor = label(who);
  record.machine = machine_names[static_cast<std::size_t>(K)];
  record.message = type_of(event);
  record.event = std::visit([](const auto& e) { return to_json(e); }, event);
  record.before = name_of(was);
  record.request = s.request;
  record.attempt = s.attempt;
  record.begin_ns = after_ms({0}, w.clock_of(who.packed())).ns;
  record.end_ns = record.begin_ns;
  if constexpr (K == kind::request) {
    if (const auto* e = std::get_if<open_request>(&event))
      submitted(*e, record);
    if (std::holds_alternative<cancel_request>(event))
      record.header.sender = "client:client";
    // In a cluster its cause leads to the leader's plan; here to the commit of the sequence.
    if (const auto* e = std::get_if<token_emitted>(&event))
      record.header.cause = commit_by_attempt_[e->attempt];
  }
  // A rank's device answers for an actor that has ended, or after its last step: what it says
  // follows what that actor handled.
  if (record.header.cause == 0 && from != who.packed())
    if (const auto last = last_handled_.find(from); last != last_handled_.end())
      record.header.cause = last->second;
  if constexpr (K == kind::lane) {
    if (const auto* e = std::get_if<open_lane>(&event))
      hold_of_lane_[who.packed()] = hold_address(e->hold).packed();
    if (record.header.cause == 0 && std::holds_alternative<receives_quiesced>(event))
      record.header.cause = heard_of_writers_[section_of(who)]; // 0: it has none
  }
  last_handled_[who.packed()] = record.header.id;
  const auto sent = begin_by_id_.find(record.header.cause);
  record.header.sent_ns = sent == begin_by_id_.end() ? record.begin_ns : sent->second;
  begin_by_id_[record.header.id] = record.begin_ns;
  note_effects<K>(was, event, record);
  made_.add(section_of(who), std::move(record));
}

/// As a transfer device records it (actors/transfer_device.cpp). What a writer says of itself
/// follows what its hold has handled.
void recorder::heard(const world& w, const address& rank, const world::writer_word& word) {
  shape_ = w.setup().shape;
  trace_record record;
  record.header.id = own_id();
  if (const auto* e = std::get_if<writer_stopped>(&word))
    record.header.cause = last_handled_[hold_of_lane_[lane_address(e->lane).packed()]];
  record.actor = "transfer_device";
  record.message = std::visit([](const auto& e) { return std::decay_t<decltype(e)>::type; }, word);
  record.event = std::visit([](const auto& e) { return to_json(e); }, word);
  record.begin_ns = record.end_ns = after_ms({0}, w.clock_of(rank.packed())).ns;
  record.header.sent_ns = record.begin_ns;
  begin_by_id_[record.header.id] = record.begin_ns;
  const std::size_t section = section_of(rank);
  heard_of_writers_[section] = record.header.id;
  made_.add(section, std::move(record));
}

/// What the router's door would have recorded.
void recorder::submitted(const open_request& e, trace_record& opened) {
  trace_record record;
  record.header = {own_id(), 0, "client:client", opened.begin_ns};
  record.actor = "router";
  record.message = submit_request::type;
  record.event = to_json(submit_request{e.spec, {}, {}});
  record.begin_ns = record.end_ns = opened.begin_ns;
  opened.header.cause = record.header.id;
  opened.header.sender = "router:router";
  begin_by_id_[record.header.id] = record.begin_ns;
  made_.add(open("router", {0xff, 1}), std::move(record));
}

template <class Message>
void recorder::at_client(const Message& message, const trace_record& cause) {
  trace_record record;
  record.header = {own_id(), cause.header.id, "router:" + cause.actor, cause.begin_ns};
  record.actor = "client";
  record.message = Message::type;
  record.event = to_json(message);
  record.request = cause.request;
  record.attempt = cause.attempt;
  record.begin_ns = record.end_ns = cause.begin_ns;
  made_.add(open("client", {0xff, 2}), std::move(record));
}

} // namespace baton::sim
