#include "tests/sim/world.hpp"

#include <algorithm>

namespace baton::sim {

using namespace protocol;

namespace {

template <class T, class Gone>
void drop(std::vector<T>& from, Gone gone) {
  from.erase(std::remove_if(from.begin(), from.end(), gone), from.end());
}

} // namespace

/// A whole group at once: it is one unit. What it has sent is still on its way.
void world::crash(std::uint8_t group) {
  group_row& g = groups_[group];
  const group_life dead{group, g.life};
  g.alive = false;
  const auto of_it = [&](std::uint32_t who) {
    const address a = address::unpacked(who);
    return a.what >= kind::pool && a.home == dead;
  };
  drop(parties_, [&](const party& p) { return of_it(p.who); });
  drop(timers_, [&](const timer& t) { return of_it(t.who); });
  drop(rows_, [&](const table_row& r) { return of_it(r.lane); });
  if (is_mapped())
    leave_dead(group);
  drop(sequences_, [&](const sequence_row& s) { return s.home == dead && !s.mapped; });
  drop(mail_, [&](const mail& m) {
    return of_it(m.to) && m.what != letter::query && m.what != letter::ask_writer;
  });
  drop(mail_, [&](const mail& m) { return m.local && of_it(m.from); });
  for (std::uint8_t r = 0; r < 4; ++r)
    floors_[group * std::size_t{4} + r] = 0; // a new life repeats no generation's owner
  for (std::uint8_t r = 0; r < 4; ++r)
    for (std::uint32_t b = 0; b < memory_.size() / (groups_.size() * 4); ++b)
      memory(group, r, b) = 0;
}

/// The same name, a new life: nothing of the old one is known to it.
void world::restart(std::uint8_t group) {
  group_row& g = groups_[group];
  if (find(address{kind::pool, {group, g.life}, 0, 0, 0, {}}.packed()) != nullptr || !g.alive)
    ++g.life;
  g.alive = true;
  const group_life now{group, g.life};
  const address pool{kind::pool, now, 0, 0, 0, {}};
  const auto event = known_->look_up(follows::form_pool, now.group, now.life, [&] {
    return known_->put_event<kind::pool>(small_pool(setup_->shape, now));
  });
  start(pool.packed(), {op::open, kind::pool, pool.packed(), event, 0});
  settle();
}

/// The clock of a group reaches the next end of a lease. The exact instant is too late already.
void world::expire(std::uint8_t group) {
  std::int64_t next = -1;
  for (const timer& t : timers_)
    if (waits_for_clock(t) && address::unpacked(t.who).home.group == group
        && t.due_ms > groups_[group].now_ms && (next < 0 || t.due_ms < next))
      next = t.due_ms;
  if (next >= 0)
    groups_[group].now_ms = next;
}

/// The router hears that a group is gone and tells an attempt that uses it.
void world::learn_loss(std::size_t index) {
  party& p = parties_[index];
  for (std::uint32_t* pool : {&p.knows.decode_pool, &p.knows.prefill_pool}) {
    if (*pool == 0 || lives(*pool))
      continue;
    const group_life lost = address::unpacked(*pool).home;
    *pool = 0;
    step(p, p.who,
         known_->put_event<kind::attempt>(
           group_lost{{group_text({lost.group, 0}, setup_->shape.prefill_groups)},
                      {reason::peer_lost, "the group is gone"}}));
    return;
  }
}

void world::heal() {
  healed_ = true;
  left_ = {};
  left_.deviations = any_number;
  for (std::uint8_t g = 0; g < groups_.size(); ++g)
    if (!groups_[g].alive)
      restart(g);
}

} // namespace baton::sim
