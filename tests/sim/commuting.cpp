// Which requests of a world meet, and where: a search need not interleave those that do not.
#include "tests/sim/world.hpp"

#include <xxhash.h>

#include <algorithm>

namespace baton::sim {

using namespace protocol;

namespace {

constexpr std::uint32_t numbers_max = 8; ///< four bits for each in 32

constexpr std::uint32_t bit_of(std::uint8_t request) { return 1U << request; }

} // namespace

std::uint32_t* world::owners_of(group_life home) {
  const std::size_t at = home.group * (lives_max + std::size_t{1}) + home.life;
  return at < owners_.size() ? &owners_[at] : nullptr;
}

/// A pool's number is one request's for ever: only a grant can tell whose.
void world::note_owner(const mail& begun) {
  std::optional<attempt_id> attempt;
  if (begun.event_of == kind::reservation)
    attempt = std::get<begin_reservation>(known_->event<kind::reservation>(begun.event))
                .opened.granted.attempt;
  else if (begun.event_of == kind::hold)
    attempt = std::get<begin_hold>(known_->event<kind::hold>(begun.event)).opened.asked.attempt;
  const address who = address::unpacked(begun.to);
  std::uint32_t* owners = owners_of(who.home);
  if (attempt && owners != nullptr && who.number < numbers_max)
    *owners |= (index_of(attempt->request) + 1U) << 4 * who.number;
}

std::optional<std::uint8_t> world::owner_of(std::uint32_t who) const {
  const address a = address::unpacked(who);
  group_life home = a.home;
  switch (a.what) {
  case kind::request: return static_cast<std::uint8_t>(a.number);
  case kind::attempt: return static_cast<std::uint8_t>(a.number / 8);
  case kind::pool: return {};
  case kind::feed: home = a.peer; break; // it bears its reservation's number
  default: break;
  }
  const std::uint32_t* owners = const_cast<world*>(this)->owners_of(home);
  const std::uint32_t owner
    = owners == nullptr || a.number >= numbers_max ? 0 : *owners >> 4 * a.number & 0xfU;
  if (owner == 0)
    return {};
  return static_cast<std::uint8_t>(owner - 1);
}

/// Words between a request's actors, or between one of them and a pool.
std::optional<std::uint8_t> world::request_of(const mail& m) const {
  const auto whose = owner_of(m.to);
  return whose ? whose : owner_of(m.from);
}

std::optional<std::uint8_t> world::request_of(const action& a) const {
  switch (a.kind) {
  case what::deliver:
  case what::repeat:
  case what::lose: return request_of(mail_[a.index]);
  case what::land:
  case what::spoil: return owner_of(rows_[a.index].lane);
  case what::compute: return owner_of(sequences_[a.index].holder);
  case what::fire: return owner_of(timers_[a.index].who);
  case what::learn: return owner_of(parties_[a.index].who);
  case what::cancel: return static_cast<std::uint8_t>(a.index);
  case what::expire:
  case what::crash:
  case what::restart:
  case what::reap:
  case what::outwait:
  case what::delay: break;
  }
  return {};
}

void world::note_touch(const party& p, std::uint32_t event, bool changed) {
  if (const auto request = owner_of(p.who)) {
    touched_.requests |= bit_of(*request);
    return;
  }
  const auto& word = known_->event<kind::pool>(event);
  const bool asks = std::holds_alternative<reserve_request>(word)
                    || std::holds_alternative<start_prefill>(word);
  const bool releases = std::holds_alternative<mark_live>(word)
                        || std::holds_alternative<quarantine_blocks>(word)
                        || std::holds_alternative<reclaim_blocks>(word);
  touched_.admits = touched_.admits || asks || (changed && !releases);
  touched_.frees = touched_.frees || releases;
}

bool world::holds(group_life home, std::uint64_t number) const {
  const party* p = find(address{kind::pool, home, 0, 0, 0, {}}.packed());
  return p != nullptr && known_->state<kind::pool>(p->state).holdings.count(number) > 0;
}

/// False for a word that a rank would judge by blocks which have been given back: they may be
/// another's. Others name a holder, which is its request's for ever.
bool world::is_current(const mail& m) const {
  const address to = address::unpacked(m.to);
  if (to.what == kind::lane) // a notice is judged by the lane's row, which bears its number
    return m.what != letter::event || holds(to.home, to.number);
  if (to.what != kind::feed)
    return true;
  const party* feed = find(m.to);
  const std::uint32_t holder = feed != nullptr ? feed->knows.hold : m.from;
  const address hold = address::unpacked(holder);
  return hold.what == kind::hold ? holds(hold.home, hold.number) : true; // a notice to nobody
}

bool world::is_separable() const {
  if (left_.crashes > 0 || left_.expiries > 0 || left_.impatience > 0 || bounded() || healed_
      || !setup_->overtaking || setup_->local_queues)
    return false;
  if (!setup_->first_only && (left_.losses | left_.copies | left_.cancels | left_.spoils) != 0)
    return false; // who meets the fault would be decided between requests
  for (const group_row& g : groups_)
    if (!g.alive)
      return false;
  for (const party& p : parties_)
    if (address::unpacked(p.who).what == kind::pool
        && !known_->state<kind::pool>(p.state).queue.empty())
      return false;
  for (const request_plan& r : setup_->requests)
    if (r.retries > 0)
      return false;
  const auto held = [&](std::uint32_t who) {
    const address a = address::unpacked(who);
    return holds(a.home, a.number);
  };
  return std::all_of(mail_.begin(), mail_.end(), [&](const mail& m) { return is_current(m); })
         && std::all_of(rows_.begin(), rows_.end(),
                        [&](const table_row& r) { return held(r.lane); })
         && std::all_of(sequences_.begin(), sequences_.end(),
                        [&](const sequence_row& s) { return held(s.holder); });
}

bool world::asks_for_room(const mail& m) const {
  if (m.what != letter::event || m.event_of != kind::pool)
    return false;
  const auto& word = known_->event<kind::pool>(m.event);
  return std::holds_alternative<reserve_request>(word)
         || std::holds_alternative<start_prefill>(word);
}

bool world::is_settled(std::uint8_t request) const {
  bool answered = false; // whether it has room at its source is on its way, and arrives
  for (const mail& m : mail_) {
    if (request_of(m) != request)
      continue;
    if (asks_for_room(m))
      return false;
    if (m.what == letter::event && m.event_of == kind::attempt && left_.losses == 0)
      answered = answered
                 || std::holds_alternative<prefill_accepted>(known_->event<kind::attempt>(m.event));
  }
  for (const party& p : parties_) {
    const address a = address::unpacked(p.who);
    if (a.what != kind::attempt || a.number / 8 != request)
      continue;
    const auto& s = known_->state<kind::attempt>(p.state);
    if (std::holds_alternative<attempt::nascent>(s) || std::holds_alternative<attempt::placing>(s)
        || std::holds_alternative<attempt::reserving>(s))
      return false;
    if (const auto* prefills = std::get_if<attempt::prefilling>(&s))
      if (prefills->data.source == attempt::debt::asked && !answered)
        return false;
  }
  return true;
}

/// Of values, for the numbers of states and messages differ from search to search.
std::uint64_t world::rest_hash() const {
  bytes all;
  for (const party& p : parties_) {
    encode_all(all, p.who, p.knows.decode_pool, p.knows.prefill_pool, p.knows.hold);
    with_kind(address::unpacked(p.who).what, [&](auto k) {
      auto s = known_->state<k.value>(p.state);
      if constexpr (k.value == kind::pool)
        std::sort(s.free_list.begin(), s.free_list.end());
      encode(all, s);
    });
  }
  std::vector<bytes> timers;
  for (const timer& t : timers_) {
    timers.emplace_back();
    encode_all(timers.back(), t.who, t.due_ms);
    with_kind(address::unpacked(t.who).what,
              [&](auto k) { encode(timers.back(), known_->event<k.value>(t.event)); });
  }
  std::sort(timers.begin(), timers.end());
  std::vector<std::uint64_t> rows;
  for (const table_row& r : rows_)
    rows.push_back(std::uint64_t{r.lane} << 32 | static_cast<std::uint32_t>(r.now) << 16
                   | (r.received ? 0x100U : 0U) | (r.landed & 0xffU));
  std::sort(rows.begin(), rows.end());
  for (const std::uint32_t f : floors_)
    encode(all, known_->floor_at(f));
  for (const client_row& c : clients_)
    encode_all(all, c.frames, c.outcome, c.commits);
  encode_all(all, timers, rows, sequences_.size(), memory_, left_.losses, left_.copies,
             left_.cancels, left_.spoils);
  return XXH3_64bits(all.data(), all.size());
}

} // namespace baton::sim
