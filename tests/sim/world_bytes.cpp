// A world as numbers: canonical, so that two ways to the same state meet.
#include "tests/sim/world.hpp"

#include <xxhash.h>

#include <algorithm>
#include <tuple>

namespace baton::sim {

namespace {

/// Writes into memory that is large enough already.
struct cursor {
  std::uint32_t* at;

  void put(std::uint32_t v) { *at++ = v; }
  void put64(std::int64_t v) {
    put(static_cast<std::uint32_t>(v));
    put(static_cast<std::uint32_t>(static_cast<std::uint64_t>(v) >> 32));
  }
  template <class T>
  void count(const std::vector<T>& v) {
    put(static_cast<std::uint32_t>(v.size()));
  }
};
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

void put(cursor& out, const mail& m) {
  out.put(m.to);
  out.put(m.from);
  out.put(m.event);
  out.put(static_cast<std::uint32_t>(m.what) | static_cast<std::uint32_t>(m.event_of) << 8
          | static_cast<std::uint32_t>(m.local) << 16);
  out.put(m.blocks);
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
  return m;
}

} // namespace

/// Numbers that the world takes at most.
std::size_t world::words_max() const {
  return 16 + groups_.size() * 3 + parties_.size() * 5 + mail_.size() * 5 + timers_.size() * 4
         + rows_.size() * 7 + sequences_.size() * 5 + clients_.size() + memory_.size()
         + floors_.size() + owners_.size() + mapped_.written.size() + mapped_.writers.size()
         + mapped_.cut_off.size() + mapped_.met.size() + mapped_.dead.size() + 3;
}

void world::save(std::vector<std::uint32_t>& words) const {
  words.resize(words_max());
  cursor out{words.data()};
  out.put(left_.losses | left_.copies << 8 | left_.crashes << 16
          | static_cast<std::uint32_t>(left_.cancels) << 24);
  out.put(left_.expiries | left_.impatience << 8 | left_.deviations << 16
          | (healed_ ? 1U << 24 : 0U)
          | static_cast<std::uint32_t>(left_.spoils) << 25);
  out.put64(router_ms_);
  for (const group_row& g : groups_) {
    out.put(g.life | (g.alive ? 0x100U : 0U));
    out.put64(g.now_ms);
  }
  out.count(parties_);
  for (const party& p : parties_)
    for (const std::uint32_t v :
         {p.who, p.state, p.knows.decode_pool, p.knows.prefill_pool, p.knows.hold})
      out.put(v);
  static thread_local std::vector<mail> sorted;
  sorted = mail_;
  const bool any_order = setup_->overtaking && !setup_->local_queues;
  if (!bounded()) // else it is a queue
    insertion_sort(sorted, any_order ? before : pair_before);
  out.count(sorted);
  for (const mail& m : sorted)
    put(out, m);
  static thread_local std::vector<timer> timers;
  timers = timers_;
  insertion_sort(timers, [](const timer& a, const timer& b) {
    return std::tie(a.who, a.event, a.due_ms) < std::tie(b.who, b.event, b.due_ms);
  });
  out.count(timers);
  for (const timer& t : timers) {
    out.put(t.who);
    out.put(t.event);
    out.put64(t.due_ms);
  }
  save_devices(out.at);
  words.resize(static_cast<std::size_t>(out.at - words.data()));
}

void world::save_devices(std::uint32_t*& at) const {
  cursor out{at};
  static thread_local std::vector<table_row> rows;
  rows = rows_;
  insertion_sort(rows, [](const table_row& a, const table_row& b) { return a.lane < b.lane; });
  out.count(rows);
  for (const table_row& r : rows)
    for (const std::uint32_t v :
         {r.lane, r.feed, static_cast<std::uint32_t>(r.now) | (r.received ? 0x100U : 0U), r.blocks,
          r.source, r.posted, r.landed})
      out.put(v);
  out.count(sequences_);
  for (const sequence_row& s : sequences_)
    for (const std::uint32_t v :
         {s.home.group | std::uint32_t{s.home.life} << 8 | std::uint32_t{s.number} << 16, s.holder,
          s.payload, s.blocks,
          s.ranks_done | (s.cancelling ? 0x100U : 0U) | (s.finished ? 0x200U : 0U)
            | (s.mapped ? 0x400U : 0U) | s.ending << 11 | s.asked << 15
            | std::uint32_t{s.target.group} << 19 | std::uint32_t{s.target.life} << 22})
      out.put(v);
  for (const client_row& c : clients_)
    out.put(c.frames | std::uint32_t{c.outcome} << 8 | std::uint32_t{c.commits} << 16);
  for (const std::uint16_t m : memory_)
    out.put(m);
  for (const std::uint32_t f : floors_)
    out.put(f);
  for (const std::uint32_t o : owners_)
    out.put(o);
  if (setup_->shape.mapped)
    save_mapped(out.at);
  at = out.at;
}

void world::save_mapped(std::uint32_t*& at) const {
  cursor out{at};
  out.put(left_.silences);
  for (const auto* numbers : {&mapped_.written, &mapped_.writers})
    for (const std::uint32_t n : *numbers)
      out.put(n);
  for (const std::uint8_t c : mapped_.cut_off)
    out.put(c);
  for (const auto* sorted : {&mapped_.met, &mapped_.dead}) {
    out.count(*sorted);
    for (const std::uint32_t who : *sorted)
      out.put(who);
  }
  at = out.at;
}

void world::load_mapped(const std::uint32_t*& in) {
  left_.silences = static_cast<std::uint8_t>(*in++);
  for (auto* numbers : {&mapped_.written, &mapped_.writers})
    for (std::uint32_t& n : *numbers)
      n = *in++;
  for (std::uint8_t& c : mapped_.cut_off)
    c = static_cast<std::uint8_t>(*in++);
  for (auto* sorted : {&mapped_.met, &mapped_.dead}) {
    sorted->resize(*in++);
    for (std::uint32_t& who : *sorted)
      who = *in++;
  }
}

std::uint64_t world::fingerprint() const {
  bytes all;
  for (const party& p : parties_) {
    encode(all, p.who);
    with_kind(address::unpacked(p.who).what,
              [&](auto k) { encode(all, known_->state<k.value>(p.state)); });
  }
  for (const mail& m : mail_) {
    encode_all(all, m.to, m.from, m.what);
    if (m.what == letter::event || m.what == letter::start)
      with_kind(m.event_of, [&](auto k) { encode(all, known_->event<k.value>(m.event)); });
    else
      encode(all, m.event);
  }
  for (const client_row& c : clients_)
    encode_all(all, c.frames, c.outcome, c.commits);
  encode_all(all, memory_, router_ms_, handled_);
  return XXH3_64bits(all.data(), all.size());
}

void world::load_sequences(const std::uint32_t*& in) {
  const auto byte = [](std::uint32_t v, int i) { return static_cast<std::uint8_t>(v >> 8 * i); };
  sequences_.resize(*in++);
  for (sequence_row& s : sequences_) {
    s = {{byte(in[0], 0), byte(in[0], 1)}, static_cast<std::uint16_t>(in[0] >> 16), in[1], in[2],
         in[3], byte(in[4], 0), (in[4] >> 8 & 1U) != 0, (in[4] >> 9 & 1U) != 0,
         (in[4] >> 10 & 1U) != 0,
         {static_cast<std::uint8_t>(in[4] >> 19 & 7U), static_cast<std::uint8_t>(in[4] >> 22 & 3U)},
         static_cast<std::uint8_t>(in[4] >> 11 & 0xfU),
         static_cast<std::uint8_t>(in[4] >> 15 & 0xfU)};
    in += 5;
  }
}

void world::load(const std::uint32_t*& in) {
  const auto byte = [](std::uint32_t v, int i) { return static_cast<std::uint8_t>(v >> 8 * i); };
  const std::uint32_t first = *in++;
  const std::uint32_t second = *in++;
  left_ = {byte(first, 0),  byte(first, 1),  byte(first, 2),
           byte(first, 3),  byte(second, 0), byte(second, 1),
           static_cast<std::uint8_t>(second >> 25), byte(second, 2), 0};
  healed_ = (second >> 24 & 1U) != 0;
  router_ms_ = get64(in);
  for (group_row& g : groups_) {
    const std::uint32_t v = *in++;
    g.life = byte(v, 0);
    g.alive = byte(v, 1) != 0;
    g.now_ms = get64(in);
  }
  parties_.resize(*in++);
  for (party& p : parties_) {
    p = {in[0], in[1], {in[2], in[3], in[4]}};
    in += 5;
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
  load_sequences(in);
  for (client_row& c : clients_) {
    c = {byte(*in, 0), byte(*in, 1), byte(*in, 2)};
    ++in;
  }
  for (std::uint16_t& m : memory_)
    m = static_cast<std::uint16_t>(*in++);
  for (std::uint32_t& f : floors_)
    f = *in++;
  for (std::uint32_t& o : owners_)
    o = *in++;
  if (setup_->shape.mapped)
    load_mapped(in);
  local_.clear();
  broken_.clear();
  cut_ = false;
}

} // namespace baton::sim
