#include "tests/sim/world.hpp"

#include <algorithm>

namespace baton::sim {

using namespace protocol;

world::world(catalogue& known, const world_setup& setup)
  : known_(&known), setup_(&setup), left_(setup.may) {
  const auto& shape = setup.shape;
  groups_.resize(shape.groups());
  const std::size_t blocks = std::max(shape.prefill_blocks, shape.decode_blocks);
  memory_.resize(shape.groups() * std::size_t{4} * blocks);
  clients_.resize(setup.requests.size());
  for (std::uint8_t g = 0; g < shape.groups(); ++g)
    restart(g);
  for (std::uint16_t i = 0; i < setup.requests.size(); ++i) {
    const address who{kind::request, {}, i, 0, 0, {}};
    const auto event = known.put_event<kind::request>(small_request(i, setup.requests[i]));
    start(0, {op::open, kind::request, who.packed(), event, 0});
  }
  settle();
}

party* world::find(std::uint32_t who) {
  const auto it = std::lower_bound(parties_.begin(), parties_.end(), who,
                                   [](const party& p, std::uint32_t w) { return p.who < w; });
  return it != parties_.end() && it->who == who ? &*it : nullptr;
}
const party* world::find(std::uint32_t who) const { return const_cast<world*>(this)->find(who); }

/// True while the life that an address names is up.
bool world::lives(std::uint32_t who) const {
  const address a = address::unpacked(who);
  if (a.what == kind::request || a.what == kind::attempt)
    return true;
  const group_row& g = groups_[a.home.group];
  return g.alive && g.life == a.home.life;
}

std::int64_t world::clock_of(std::uint32_t who) const {
  const address a = address::unpacked(who);
  return a.what == kind::request || a.what == kind::attempt ? router_ms_
                                                               : groups_[a.home.group].now_ms;
}

void world::breach(std::string sentence) {
  if (broken_.empty())
    broken_ = std::move(sentence);
}

void world::post(mail m) {
  m.local = m.what != letter::offer
            && node_of(address::unpacked(m.from)) == node_of(address::unpacked(m.to));
  if (m.local && !setup_->local_queues)
    local_.push_back(m);
  else
    mail_.push_back(m);
}

void world::settle() {
  for (std::size_t i = 0; i < local_.size(); ++i) {
    const mail m = local_[i];
    deliver(m);
  }
  local_.clear();
}

void world::tell(std::uint32_t from, std::uint32_t to, kind event_of, std::uint32_t event) {
  mail m;
  m.to = to;
  m.from = from;
  m.event = event;
  m.event_of = event_of;
  post(m);
}

void world::start(std::uint32_t from, const command& c) {
  mail m;
  m.to = c.to;
  m.from = from;
  m.event = c.number;
  m.event_of = c.event_of;
  m.what = letter::start;
  if (c.event_of == kind::feed)
    m.knows.hold = from;
  if (c.event_of == kind::hold) {
    const auto& begun = std::get<begin_hold>(known_->event<kind::hold>(c.number));
    m.knows.reservation
      = reservation_address(begun.opened.asked.granted.reservation).packed();
  }
  post(m);
}

void world::deliver(const mail& m) {
  if (m.what != letter::event && m.what != letter::start) {
    noticed(m);
    return;
  }
  if (!lives(m.to))
    return;
  party* p = find(m.to);
  if (p == nullptr && m.what == letter::start) {
    const address who = address::unpacked(m.to);
    const party born{m.to, known_->nascent(who.what), m.knows};
    const auto at = std::lower_bound(parties_.begin(), parties_.end(), m.to,
                                     [](const party& a, std::uint32_t w) { return a.who < w; });
    parties_.insert(at, born);
    step(*find(m.to), m.from, m.event);
    if (who.what == kind::feed)
      if (const party* feed = find(m.to))
        watch_sequence(*feed);
    return;
  }
  if (p != nullptr) {
    learn_contact(*p, m.from, m.event);
    step(*p, m.from, m.event);
    return;
  }
  // Nobody is there any more. A rank's transfer device answers for its lanes.
  if (m.event_of == kind::lane)
    if (const auto* e = std::get_if<stop_lane>(&known_->event<kind::lane>(m.event)))
      tell(m.to, m.from, kind::reservation, known_->put_event<kind::reservation>(
                                              lane_stopped{e->lane}));
}

void world::learn_contact(party& p, std::uint32_t from, std::uint32_t event) {
  const kind what = address::unpacked(p.who).what;
  if (what == kind::attempt) {
    const auto& e = known_->event<kind::attempt>(event);
    if (std::holds_alternative<reserve_granted>(e))
      p.knows.reservation = from;
    if (std::holds_alternative<prefill_accepted>(e))
      p.knows.hold = from;
  }
  if (what == kind::reservation
      && std::holds_alternative<manifest_offered>(known_->event<kind::reservation>(event)))
    p.knows.hold = from;
}

void world::step(party& p, std::uint32_t from, std::uint32_t event) {
  const std::uint32_t who = p.who;
  const std::uint32_t before = p.state;
  const reaction& made = known_->react(who, before, event, clock_of(who));
  if (observer_ != nullptr)
    observer_->stepped(*this, who, from, before, event, made);
  if (!made.broken.empty()) {
    breach(made.broken);
    return;
  }
  p.state = made.next;
  if (address::unpacked(who).what == kind::reservation)
    check_commit(p, before, made.next);
  if (!made.changes.empty())
    check_changes(who, made);
  for (const command& c : made.commands)
    run(who, c);
}

void world::run(std::uint32_t self, const command& c) {
  const auto to_contact = [&] {
    const contacts k = find(self)->knows;
    const std::uint32_t all[] = {k.decode_pool, k.prefill_pool, k.reservation, k.hold};
    const std::uint32_t to = all[c.to];
    if (to != 0)
      tell(self, to, c.event_of, c.number);
  };
  switch (c.what) {
  case op::send: tell(self, c.to, c.event_of, c.number); break;
  case op::open: start(self, c); break;
  case op::send_to_contact: to_contact(); break;
  case op::arm: timers_.push_back({self, c.number, clock_of(self) + c.ms}); break;
  case op::place: place(self); break;
  case op::admit: admit(self); break;
  case op::revoke: revoke(self); break;
  case op::receipt:
    for (table_row& row : rows_)
      if (row.lane == self) {
        row.received = true;
        notify(row, letter::receipt);
      }
    break;
  case op::offer: {
    mail m;
    m.what = letter::offer;
    m.from = self;
    const address feed = address::unpacked(self);
    m.to = address{kind::lane, feed.peer, feed.number, feed.source, feed.destination, {}}.packed();
    m.event = c.number;
    m.blocks = 0;
    if (const open_feed* opened = opened_feed(self))
      m.blocks = known_->put_blocks(opened->source_blocks);
    post(m);
    break;
  }
  case op::query: {
    mail m;
    m.what = letter::query;
    m.from = self;
    const address feed = address::unpacked(self);
    m.to = address{kind::lane, feed.peer, feed.number, feed.source, feed.destination, {}}.packed();
    post(m);
    break;
  }
  case op::prefill:
  case op::decode: begin_sequence(self, c.number); break;
  case op::cancel_sequence: cancel_sequence(self, c.number); break;
  case op::frame:
  case op::outcome: check_client(self, c); break;
  case op::end: end(self); break;
  }
}

/// The actor is gone: its timers too, and what its devices kept for it.
void world::end(std::uint32_t who) {
  parties_.erase(std::remove_if(parties_.begin(), parties_.end(),
                                [&](const party& p) { return p.who == who; }),
                 parties_.end());
  timers_.erase(std::remove_if(timers_.begin(), timers_.end(),
                               [&](const timer& t) { return t.who == who; }),
                timers_.end());
  sequences_.erase(std::remove_if(sequences_.begin(), sequences_.end(),
                                  [&](const sequence_row& s) { return s.holder == who; }),
                   sequences_.end());
  const address a = address::unpacked(who);
  if (a.what == kind::reservation)
    rows_.erase(std::remove_if(rows_.begin(), rows_.end(),
                               [&](const table_row& r) {
                                 const address l = address::unpacked(r.lane);
                                 return l.home == a.home && l.number == a.number;
                               }),
                rows_.end());
}

/// The router's choice: attempt k goes to the k-th of the groups that are up.
void world::place(std::uint32_t who) {
  const auto& shape = setup_->shape;
  const address a = address::unpacked(who);
  const std::uint32_t turn = a.number / 8U + a.number % 8U - 1U;
  const auto choose = [&](std::uint8_t first, std::uint8_t count) -> int {
    for (std::uint8_t i = 0; i < count; ++i) {
      const int g = first + static_cast<int>((turn + i) % count);
      if (groups_[static_cast<std::size_t>(g)].alive)
        return g;
    }
    return -1;
  };
  const int source = choose(0, shape.prefill_groups);
  const int destination = choose(shape.prefill_groups, shape.decode_groups);
  const attempt_id id{request_id_of(a.number / 8), a.number % 8U, {1}};
  if (source < 0 || destination < 0) {
    tell(who, who, kind::attempt,
         known_->put_event<kind::attempt>(
           place_refused{id, {reason::peer_lost, "no group of this role is whole"}}));
    return;
  }
  const auto life = [&](int g) {
    return group_life{static_cast<std::uint8_t>(g), groups_[static_cast<std::size_t>(g)].life};
  };
  const group_life from = life(source);
  const group_life into = life(destination);
  attempt_placed placed{id, {{group_text({from.group, 0}, shape.prefill_groups)},
                             shape.prefill_ranks, {}},
                        {group_text({into.group, 0}, shape.prefill_groups)}};
  for (std::uint8_t r = 0; r < shape.prefill_ranks; ++r)
    placed.source.ranks.push_back(life_of(from, r));
  party* p = find(who);
  p->knows.decode_pool = address{kind::pool, into, 0, 0, 0, {}}.packed();
  p->knows.prefill_pool = address{kind::pool, from, 0, 0, 0, {}}.packed();
  tell(who, who, kind::attempt, known_->put_event<kind::attempt>(placed));
}

} // namespace baton::sim
