#include "tests/sim/world.hpp"

#include <algorithm>
#include <tuple>

namespace baton::sim {

using namespace protocol;

namespace {

bool same_mail(const mail& a, const mail& b) {
  return std::tie(a.to, a.from, a.event, a.what, a.event_of, a.blocks)
         == std::tie(b.to, b.from, b.event, b.what, b.event_of, b.blocks);
}

bool same_pair(const mail& a, const mail& b) { return a.to == b.to && a.from == b.from; }

} // namespace

/// Timers that only a clock can end, however slow the world is.
bool world::waits_for_clock(const timer& t) const {
  const address a = address::unpacked(t.who);
  if (a.what == kind::reservation)
    return std::holds_alternative<lease_expired>(known_->event<kind::reservation>(t.event));
  return a.what == kind::pool;
}

bool world::is_deadline(const timer& t) const {
  return address::unpacked(t.who).what == kind::request;
}

/// A message that may be the next of its pair: the network may let messages overtake each other,
/// a mailbox never does.
bool world::may_arrive(std::size_t index) const {
  const mail& m = mail_[index];
  if (setup_->overtaking && !m.local && !setup_->merging)
    return true;
  for (std::size_t i = 0; i < index; ++i) {
    if (setup_->merging && same_mail(mail_[i], m))
      return false; // the same move
    if ((m.local || !setup_->overtaking) && same_pair(mail_[i], m))
      return false;
  }
  return true;
}

/// The oldest mail can wait for all the rest: where order is kept, none of that is of its own pair.
bool world::may_be_delayed() const {
  if (mail_.size() < 2)
    return false;
  const mail& m = mail_.front();
  return (setup_->overtaking && !m.local)
         || std::none_of(mail_.begin() + 1, mail_.end(),
                         [&](const mail& other) { return same_pair(other, m); });
}

bool world::is_enabled(const timer& t, bool idle) const {
  if (waits_for_clock(t))
    return t.due_ms <= clock_of(t.who);
  if (is_deadline(t))
    return false; // a client's cancel is the same event, and is tried
  return idle || left_.impatience > 0;
}

/// The router's word of a loss follows its word of the placement.
bool world::has_been_placed(const party& p) const {
  const auto& s = known_->state<kind::attempt>(p.state);
  return !std::holds_alternative<attempt::nascent>(s)
         && !std::holds_alternative<attempt::placing>(s);
}

void world::enabled(std::vector<action>& out) const {
  out.clear();
  add_ordinary(out);
  add_timers(out);
  if (healed_)
    return;
  if (!out.empty())
    out.front().dull = true;
  if (bounded() && left_.deviations == 0) {
    out.resize(std::min<std::size_t>(out.size(), 1));
    return;
  }
  if (bounded() && may_be_delayed())
    out.push_back({what::delay, false, 0, 0});
  add_faults(out);
}

/// What devices and the network do when all is well, in any order.
void world::add_ordinary(std::vector<action>& out) const {
  const auto add = [&](what k, std::size_t index, std::size_t arg = 0) {
    out.push_back(
      {k, false, static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(arg)});
  };
  for (std::size_t i = 0; i < mail_.size(); ++i)
    if (may_arrive(i))
      add(what::deliver, i);
  for (std::size_t i = 0; i < rows_.size(); ++i)
    for (std::uint32_t posted = rows_[i].posted; posted != 0; posted &= posted - 1)
      add(what::land, i, static_cast<std::size_t>(__builtin_ctz(posted)));
  for (std::size_t i = 0; i < sequences_.size(); ++i) {
    const sequence_row& s = sequences_[i];
    if (work_of(s).tokens > 0)
      add(what::compute, i);
    else
      for (std::uint8_t r = 0; r < setup_->shape.ranks(s.home.group); ++r)
        if ((s.ranks_done >> r & 1U) == 0)
          add(what::compute, i, r);
  }
  for (std::size_t i = 0; i < parties_.size(); ++i) {
    const party& p = parties_[i];
    if (address::unpacked(p.who).what == kind::attempt
        && ((p.knows.decode_pool != 0 && !lives(p.knows.decode_pool))
            || (p.knows.prefill_pool != 0 && !lives(p.knows.prefill_pool)))
        && has_been_placed(p))
      add(what::learn, i);
  }
  add_mapped(out);
}

void world::add_timers(std::vector<action>& out) const {
  const auto add = [&](std::size_t index) {
    out.push_back({what::fire, false, static_cast<std::uint16_t>(index), 0});
  };
  const bool idle = out.empty();
  if (healed_) { // time passes as it does, and only when all else rests
    const auto next = std::min_element(
      timers_.begin(), timers_.end(),
      [&](const timer& a, const timer& b) { return left_ms(a) < left_ms(b); });
    if (idle && next != timers_.end())
      add(static_cast<std::size_t>(next - timers_.begin()));
    return;
  }
  for (std::size_t i = 0; i < timers_.size(); ++i)
    if (is_enabled(timers_[i], idle))
      add(i);
}

void world::add_faults(std::vector<action>& out) const {
  const auto add = [&](what k, std::size_t index) {
    out.push_back({k, false, static_cast<std::uint16_t>(index), 0});
  };
  if (left_.losses > 0 || left_.copies > 0)
    for (std::size_t i = 0; i < mail_.size(); ++i) {
      if (mail_[i].local || mail_[i].what == letter::start || !may_arrive(i)
          || (setup_->first_only && request_of(mail_[i]) != 0))
        continue;
      if (left_.copies > 0)
        add(what::repeat, i);
      if (left_.losses > 0)
        add(what::lose, i);
    }
  if (left_.spoils > 0)
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (std::uint32_t posted = rows_[i].posted; posted != 0; posted &= posted - 1)
        out.push_back({what::spoil, false, static_cast<std::uint16_t>(i),
                       static_cast<std::uint16_t>(__builtin_ctz(posted))});
  if (left_.silences > 0)
    add_silences(out);
  if (left_.cancels > 0)
    for (std::size_t i = 0; i < (setup_->first_only ? 1 : clients_.size()); ++i)
      if (clients_[i].outcome == 0)
        add(what::cancel, i);
  for (std::uint8_t g = 0; g < groups_.size(); ++g) {
    const bool leased = std::any_of(timers_.begin(), timers_.end(), [&](const timer& t) {
      return waits_for_clock(t) && address::unpacked(t.who).home.group == g
             && t.due_ms > groups_[g].now_ms;
    });
    if (left_.expiries > 0 && leased)
      add(what::expire, g);
    if (left_.crashes > 0 && groups_[g].alive)
      add(what::crash, g);
    if (!groups_[g].alive && groups_[g].life < lives_max)
      add(what::restart, g);
  }
}

void world::fire(std::size_t index) {
  const timer t = timers_[index];
  timers_.erase(timers_.begin() + static_cast<std::ptrdiff_t>(index));
  if (healed_)
    pass_time(left_ms(t));
  else if (!waits_for_clock(t) && left_.impatience > 0 && !idle_before_timers())
    --left_.impatience;
  if (party* p = find(t.who))
    step(*p, t.who, t.event);
  else if (is_mapped() && address::unpacked(t.who).what == kind::lane)
    writers_due(address::unpacked(t.who));
}

void world::pass_time(std::int64_t ms) {
  if (ms <= 0)
    return;
  router_ms_ += ms;
  for (group_row& g : groups_)
    g.now_ms += ms;
}

/// Nothing but timers could happen. An attempt that is still to hear of a loss counts as idle here,
/// and not in `rests`.
bool world::idle_before_timers() const {
  return mail_.empty() && sequences_idle() && mapped_.dead.empty()
         && std::all_of(rows_.begin(), rows_.end(),
                        [](const table_row& r) { return r.posted == 0; });
}
bool world::sequences_idle() const {
  return std::none_of(sequences_.begin(), sequences_.end(),
                      [&](const sequence_row& s) { return computing(s); });
}

bool world::rests() const {
  std::vector<action> next;
  add_ordinary(next);
  return next.empty();
}

void world::apply(const action& a) {
  const std::size_t i = a.index;
  touched_ = {};
  if (bounded() && !a.dull && !healed_)
    --left_.deviations;
  switch (a.kind) {
  case what::deliver:
  case what::repeat: {
    const mail m = mail_[i];
    if (a.kind == what::repeat) {
      --left_.copies;
      mail_[i].id = ++messages_;
    } else {
      mail_.erase(mail_.begin() + a.index);
    }
    deliver(m);
    break;
  }
  case what::lose:
    --left_.losses;
    mail_.erase(mail_.begin() + a.index);
    break;
  case what::land: land(i, a.arg); break;
  case what::spoil:
    --left_.spoils;
    fail_read(i, a.arg, {reason::corrupt, "the bytes of a piece are wrong"});
    break;
  case what::compute: compute(i, static_cast<std::uint8_t>(a.arg)); break;
  case what::fire: fire(i); break;
  case what::cancel: {
    --left_.cancels;
    const address who{kind::request, {}, a.index, 0, 0, {}};
    if (party* p = find(who.packed()))
      step(*p, who.packed(),
           known_->put_event<kind::request>(
             cancel_request{{"r" + std::to_string(i + 1)}, {reason::cancelled, "left"}}));
    break;
  }
  case what::expire:
    --left_.expiries;
    expire(static_cast<std::uint8_t>(i));
    break;
  case what::crash:
    --left_.crashes;
    crash(static_cast<std::uint8_t>(i));
    break;
  case what::restart: restart(static_cast<std::uint8_t>(i)); break;
  case what::learn: learn_loss(i); break;
  case what::reap: reap(i); break;
  case what::outwait:
    --left_.silences;
    outwait(static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(a.arg));
    break;
  case what::delay: std::rotate(mail_.begin(), mail_.begin() + 1, mail_.end()); break;
  }
  settle();
}

} // namespace baton::sim
