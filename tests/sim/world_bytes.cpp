// A world as numbers: canonical, so that two ways to the same state meet.
#include "tests/sim/world.hpp"

#include <algorithm>
#include <tuple>

namespace baton::sim {

namespace {

void put64(std::vector<std::uint32_t>& out, std::int64_t v) {
  out.push_back(static_cast<std::uint32_t>(v));
  out.push_back(static_cast<std::uint32_t>(static_cast<std::uint64_t>(v) >> 32));
}
std::int64_t get64(const std::uint32_t*& in) {
  const std::uint64_t low = *in++;
  return static_cast<std::int64_t>(low | std::uint64_t{*in++} << 32);
}

bool before(const mail& a, const mail& b) {
  return std::tie(a.to, a.from, a.what, a.event_of, a.event, a.blocks)
         < std::tie(b.to, b.from, b.what, b.event_of, b.event, b.blocks);
}
bool pair_before(const mail& a, const mail& b) {
  return std::tie(a.to, a.from) < std::tie(b.to, b.from);
}

/// Stable, and quick for the few that there are, which are nearly sorted already.
template <class T, class Before>
void insertion_sort(std::vector<T>& v, Before less) {
  for (std::size_t i = 1; i < v.size(); ++i)
    for (std::size_t j = i; j > 0 && less(v[j], v[j - 1]); --j)
      std::swap(v[j], v[j - 1]);
}

void put(std::vector<std::uint32_t>& out, const mail& m) {
  out.push_back(m.to);
  out.push_back(m.from);
  out.push_back(m.event);
  out.push_back(static_cast<std::uint32_t>(m.what) | static_cast<std::uint32_t>(m.event_of) << 8
                | static_cast<std::uint32_t>(m.local) << 16);
  out.push_back(m.blocks);
  out.push_back(m.knows.reservation);
  out.push_back(m.knows.hold);
}
mail get_mail(const std::uint32_t*& in) {
  mail m;
  m.to = *in++;
  m.from = *in++;
  m.event = *in++;
  const std::uint32_t packed = *in++;
  m.what = static_cast<letter>(packed & 0xff);
  m.event_of = static_cast<kind>(packed >> 8 & 0xff);
  m.local = (packed >> 16) != 0;
  m.blocks = *in++;
  m.knows.reservation = *in++;
  m.knows.hold = *in++;
  return m;
}

} // namespace

void world::save(std::vector<std::uint32_t>& out) const {
  out.clear();
  const auto count = [&](const auto& v) { out.push_back(static_cast<std::uint32_t>(v.size())); };
  out.push_back(left_.losses | left_.copies << 8 | left_.crashes << 16 | left_.cancels << 24);
  out.push_back(left_.expiries | left_.impatience << 8 | (healed_ ? 1U << 16 : 0U));
  put64(out, router_ms_);
  for (const group_row& g : groups_) {
    out.push_back(g.life | (g.alive ? 0x100U : 0U));
    put64(out, g.now_ms);
  }
  count(parties_);
  for (const party& p : parties_)
    for (const std::uint32_t v : {p.who, p.state, p.knows.decode_pool, p.knows.prefill_pool,
                                  p.knows.reservation, p.knows.hold})
      out.push_back(v);
  static thread_local std::vector<mail> sorted;
  sorted = mail_;
  if (setup_->overtaking && !setup_->local_queues)
    insertion_sort(sorted, before);
  else
    insertion_sort(sorted, pair_before);
  count(sorted);
  for (const mail& m : sorted)
    put(out, m);
  static thread_local std::vector<timer> timers;
  timers = timers_;
  insertion_sort(timers, [](const timer& a, const timer& b) {
    return std::tie(a.who, a.event, a.due_ms) < std::tie(b.who, b.event, b.due_ms);
  });
  count(timers);
  for (const timer& t : timers) {
    out.push_back(t.who);
    out.push_back(t.event);
    put64(out, t.due_ms);
  }
  static thread_local std::vector<table_row> rows;
  rows = rows_;
  insertion_sort(rows, [](const table_row& a, const table_row& b) { return a.lane < b.lane; });
  count(rows);
  for (const table_row& r : rows)
    for (const std::uint32_t v :
         {r.lane, r.feed, static_cast<std::uint32_t>(r.now) | (r.received ? 0x100U : 0U), r.blocks,
          r.source, r.posted, r.landed})
      out.push_back(v);
  count(sequences_);
  for (const sequence_row& s : sequences_)
    for (const std::uint32_t v :
         {s.home.group | std::uint32_t{s.home.life} << 8 | std::uint32_t{s.number} << 16, s.holder,
          s.payload, s.blocks,
          s.ranks_done | (s.cancelling ? 0x100U : 0U) | (s.finished ? 0x200U : 0U)})
      out.push_back(v);
  for (const client_row& c : clients_)
    out.push_back(c.frames | std::uint32_t{c.outcome} << 8 | std::uint32_t{c.commits} << 16);
  for (const std::uint16_t m : memory_)
    out.push_back(m);
}

void world::load(const std::uint32_t*& in) {
  const auto byte = [](std::uint32_t v, int i) { return static_cast<std::uint8_t>(v >> 8 * i); };
  const std::uint32_t first = *in++;
  const std::uint32_t second = *in++;
  left_ = {byte(first, 0), byte(first, 1), byte(first, 2),
           byte(first, 3), byte(second, 0), byte(second, 1)};
  healed_ = byte(second, 2) != 0;
  router_ms_ = get64(in);
  for (group_row& g : groups_) {
    const std::uint32_t v = *in++;
    g.life = byte(v, 0);
    g.alive = byte(v, 1) != 0;
    g.now_ms = get64(in);
  }
  parties_.resize(*in++);
  for (party& p : parties_) {
    p = {in[0], in[1], {in[2], in[3], in[4], in[5]}};
    in += 6;
  }
  mail_.resize(*in++);
  for (mail& m : mail_)
    m = get_mail(in);
  timers_.resize(*in++);
  for (timer& t : timers_) {
    t.who = *in++;
    t.event = *in++;
    t.due_ms = get64(in);
  }
  rows_.resize(*in++);
  for (table_row& r : rows_) {
    r = {in[0], in[1], static_cast<table_row::phase>(in[2] & 0xff), (in[2] >> 8) != 0,
         in[3], in[4], in[5], in[6]};
    in += 7;
  }
  sequences_.resize(*in++);
  for (sequence_row& s : sequences_) {
    s = {{byte(in[0], 0), byte(in[0], 1)}, static_cast<std::uint16_t>(in[0] >> 16), in[1], in[2],
         in[3], byte(in[4], 0), (in[4] >> 8 & 1U) != 0, (in[4] >> 9 & 1U) != 0};
    in += 5;
  }
  for (client_row& c : clients_) {
    c = {byte(*in, 0), byte(*in, 1), byte(*in, 2)};
    ++in;
  }
  for (std::uint16_t& m : memory_)
    m = static_cast<std::uint16_t>(*in++);
  local_.clear();
  broken_.clear();
  cut_ = false;
}

} // namespace baton::sim
