#include "tests/sim/world.hpp"

#include <algorithm>

namespace baton::sim {

using namespace protocol;

world::world(catalogue& known, const world_setup& setup, observer* watching)
  : known_(&known), setup_(&setup), left_(setup.may), observer_(watching) {
  const auto& shape = setup.shape;
  groups_.resize(shape.groups());
  floors_.resize(shape.groups() * std::size_t{4});
  const std::size_t blocks = std::max(shape.prefill_blocks, shape.decode_blocks);
  memory_.resize(shape.groups() * std::size_t{4} * blocks);
  if (shape.mapped) {
    mapped_.written.resize(floors_.size());
    mapped_.writers.resize(floors_.size());
    mapped_.cut_off.resize(memory_.size());
  }
  clients_.resize(setup.requests.size());
  if (setup.reduced)
    owners_.resize(shape.groups() * (lives_max + std::size_t{1}));
  for (std::uint8_t g = 0; g < shape.groups(); ++g)
    restart(g);
  for (std::uint16_t i = 0; i < setup.requests.size(); ++i) {
    const address who{kind::request, {}, i, 0, 0, {}};
    const request_plan& plan = setup.requests[i];
    const std::uint32_t as_number
      = plan.prompt_blocks | std::uint32_t{plan.output_tokens} << 8
        | std::uint32_t{plan.retries} << 16 | (plan.waits ? 1U << 24 : 0U);
    const auto event = known.look_up(follows::open_request, i, as_number, [&] {
      return known.put_event<kind::request>(small_request(i, plan));
    });
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
  if (judging_ && broken_.empty())
    broken_ = std::move(sentence);
}

void world::post(mail m) {
  m.id = ++messages_;
  m.cause = m.from == m.to ? 0 : handling_.id;
  m.local = m.what != letter::offer
            && node_of(address::unpacked(m.from)) == node_of(address::unpacked(m.to));
  if (m.local && !setup_->local_queues) {
    local_.push_back(m);
    return;
  }
  if (!goes_nowhere(m) && !merge(m))
    mail_.push_back(m);
}

/// A search takes two equal messages under way for one (a repetition is a fault of its own), and
/// what one step offers of a lane for one notice of many pieces.
bool world::merge(const mail& m) {
  if (!setup_->merging)
    return false;
  for (mail& other : mail_) {
    if (other.to != m.to || other.from != m.from || other.what != m.what)
      continue;
    if (m.what == letter::offer) {
      other.event |= m.event;
      return true;
    }
    if (other.event == m.event && other.event_of == m.event_of)
      return true;
  }
  return false;
}

void world::settle() {
  for (std::size_t i = 0; i < local_.size(); ++i) {
    const mail m = local_[i];
    deliver(m);
  }
  local_.clear();
}

/// True for a word to an attempt or request that has ended: it is as good as heard.
bool world::goes_nowhere(const mail& m) const {
  return setup_->merging && m.what == letter::event
         && address::unpacked(m.to).what <= kind::attempt && find(m.to) == nullptr;
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
  post(m);
}

void world::deliver(const mail& m) {
  arrived_ = {m.id, m.cause};
  hand_over(m);
  arrived_ = {};
}

void world::hand_over(const mail& m) {
  if (m.what != letter::event && m.what != letter::start) {
    noticed(m);
    return;
  }
  if (!lives(m.to))
    return;
  if (is_mapped() && m.event_of == kind::lane)
    note_unread(m);
  if (party* p = find(m.to))
    step(*p, m.from, m.event);
  else if (m.what == letter::start)
    begin(m);
  else if (m.event_of == kind::lane)
    at_lane_rank(m);
  else if (m.event_of == kind::feed)
    at_feed_rank(m);
}

void world::begin(const mail& m) {
  party born{m.to, known_->nascent(m.event_of), {}};
  if (m.event_of == kind::feed)
    born.knows.hold = m.from;
  if (setup_->reduced)
    note_owner(m);
  const auto at = std::lower_bound(parties_.begin(), parties_.end(), m.to,
                                   [](const party& a, std::uint32_t w) { return a.who < w; });
  parties_.insert(at, born);
  step(*find(m.to), m.from, m.event);
}

void world::step(party& p, std::uint32_t from, std::uint32_t event) {
  ++handled_;
  const std::uint32_t who = p.who;
  const std::uint32_t before = p.state;
  const reaction made = known_->react(who, before, event, clock_of(who));
  handling_ = arrived_.id != 0 ? arrived_ : identity{++messages_, 0};
  arrived_ = {};
  if (observer_ != nullptr)
    observer_->stepped(*this, who, from, before, event, made);
  if (made.broken != 0)
    breach(known_->sentence(made));
  if (made.asserted && broken_.empty())
    broken_ = known_->sentence(made); // its process has ended, whoever looks
  if (!broken_.empty())
    return;
  if (setup_->reduced)
    note_touch(p, event, made.next != before);
  p.state = made.next;
  if (made.commits)
    check_commit(p);
  if (made.changes > 0)
    check_changes(who, made);
  if (made.received)
    note_receipt(who, before);
  for (std::uint32_t i = 0; i < made.commands; ++i)
    run(who, known_->command_at(made.first_command + i));
  handling_ = {};
}

/// The rank remembers that a feed ended by its reader's receipt.
void world::note_receipt(std::uint32_t who, std::uint32_t before) {
  std::uint32_t& id = floor_of(address::unpacked(who));
  id = known_->look_up(follows::receipt_floor, id, before, [&] {
    const open_feed* opened = opened_of(known_->state<kind::feed>(before));
    if (opened == nullptr)
      return id;
    lane_floor floor = known_->floor_at(id);
    floor.note_received(reader_of(opened->lane), opened->source_blocks.front());
    return known_->put_floor(floor);
  });
}

void world::run(std::uint32_t self, const command& c) {
  const auto to_contact = [&] {
    const contacts k = find(self)->knows;
    const std::uint32_t all[] = {k.decode_pool, k.prefill_pool, k.hold};
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
    m.event = 1U << c.number;
    m.blocks = 0;
    if (const party* p = find(self))
      m.blocks = known_->look_up(follows::feed_blocks, p->state, 0, [&] {
        const open_feed* opened = opened_feed(self);
        return opened == nullptr ? 0 : known_->put_blocks(opened->source_blocks);
      });
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
  case op::end_sequence: end_at_ranks(self, c.number); break;
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
                                  [&](const sequence_row& s) {
                                  return s.holder == who && !(s.mapped && computing(s));
                                }),
                   sequences_.end());
  if (setup_->merging) // attempts and requests are never begun again: nobody hears these
    mail_.erase(std::remove_if(mail_.begin(), mail_.end(),
                               [&](const mail& m) {
                                 return m.to == who && address::unpacked(who).what <= kind::attempt;
                               }),
                mail_.end());
  const address a = address::unpacked(who);
  if (is_mapped() && a.what == kind::lane)
    forget_lane(who);
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
  const std::uint32_t lives = from.group | std::uint32_t{from.life} << 8
                              | std::uint32_t{into.group} << 16 | std::uint32_t{into.life} << 24;
  const std::uint32_t event = known_->look_up(follows::attempt_placed, who, lives, [&] {
    attempt_placed placed{id, {{group_text({from.group, 0}, shape.prefill_groups)},
                               shape.prefill_ranks, {}},
                          {group_text({into.group, 0}, shape.prefill_groups)}};
    for (std::uint8_t r = 0; r < shape.prefill_ranks; ++r)
      placed.source.ranks.push_back(life_of(from, r));
    return known_->put_event<kind::attempt>(placed);
  });
  party* p = find(who);
  p->knows.decode_pool = address{kind::pool, into, 0, 0, 0, {}}.packed();
  p->knows.prefill_pool = address{kind::pool, from, 0, 0, 0, {}}.packed();
  tell(who, who, kind::attempt, event);
}

} // namespace baton::sim
