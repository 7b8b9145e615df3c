#include "protocol/trace_ledger.hpp"

#include "protocol/reservation.hpp"
#include "protocol/source_hold.hpp"

#include <algorithm>
#include <map>

namespace baton::protocol {

namespace {

class ledger_reading {
public:
  explicit ledger_reading(const trace_source& source) : source_(source) {}

  trace_ledgers run() {
    const auto& keys = source_.keys();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      all_.begin_ns = i == 0 ? keys[i].begin_ns : std::min(all_.begin_ns, keys[i].begin_ns);
      all_.end_ns = std::max(all_.end_ns, keys[i].begin_ns);
      const auto read = source_.record(i);
      const failure why = read ? take(i, read.value()) : read.error();
      if (why && all_.unreadable++ == 0)
        all_.first_unreadable = why;
    }
    for (auto& [id, t] : tenures_)
      if (const auto pool = pools_.find(id.owner); pool != pools_.end() && !t.blocks.empty())
        all_.pools[pool->second].tenures.push_back(std::move(t));
    for (auto& pool : all_.pools)
      std::sort(pool.tenures.begin(), pool.tenures.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.granted_ns, a.id.number) < std::tuple(b.granted_ns, b.id.number);
      });
    return std::move(all_);
  }

private:
  failure take(std::size_t i, const trace_record& r) {
    if (r.machine == "pool")
      return take_pool(i, r);
    if (r.machine == "reservation" && r.message == begin_reservation::type) {
      begin_reservation e;
      if (const auto error = json_form<begin_reservation>::read(r.event, e))
        return {reason::bad_input, describe(*error)};
      const grant& granted = e.opened.granted;
      note(r, block_tenure::side::destination, granted.reservation, granted.attempt,
           granted.blocks);
    }
    if (r.machine == "source_hold" && r.message == begin_hold::type) {
      begin_hold e;
      if (const auto error = json_form<begin_hold>::read(r.event, e))
        return {reason::bad_input, describe(*error)};
      note(r, block_tenure::side::source, e.opened.hold, e.opened.asked.attempt, e.opened.blocks);
    }
    return {};
  }

  /// The pool sent this word when it gave the blocks away.
  void note(const trace_record& r, block_tenure::side kind, const reservation_id& id,
            const attempt_id& attempt, const std::vector<block_ref>& blocks) {
    block_tenure& t = tenures_[id];
    t.kind = kind;
    t.id = id;
    t.attempt = attempt;
    t.blocks = blocks;
    t.granted_ns = r.header.sent_ns > 0 ? r.header.sent_ns : r.begin_ns;
  }

  failure take_pool(std::size_t i, const trace_record& r) {
    if (r.message == form_pool::type) {
      pool_ledger pool;
      if (const auto error = json_form<form_pool>::read(r.event, pool.formed))
        return {reason::bad_input, describe(*error)};
      pool.section = source_.keys()[i].section;
      pool.formed_ns = r.begin_ns;
      pools_[pool.formed.owner] = all_.pools.size();
      all_.pools.push_back(std::move(pool));
    } else if (r.message == mark_live::type) {
      return first_at(r, &block_tenure::live_ns);
    } else if (r.message == quarantine_blocks::type) {
      return first_at(r, &block_tenure::quarantined_ns);
    } else if (r.message == reclaim_blocks::type) {
      return first_at(r, &block_tenure::reclaimed_ns);
    }
    return {};
  }

  /// Such a word may be said twice; the first one counts.
  failure first_at(const trace_record& r, std::optional<std::int64_t> block_tenure::*member) {
    mark_live e; // all three name the reservation and nothing else
    if (const auto error = json_form<mark_live>::read(r.event, e))
      return {reason::bad_input, describe(*error)};
    auto& at = tenures_[e.reservation].*member;
    at = std::min(at.value_or(r.begin_ns), r.begin_ns);
    return {};
  }

  const trace_source& source_;
  trace_ledgers all_;
  std::map<incarnation, std::size_t> pools_;
  std::map<reservation_id, block_tenure> tenures_;
};

struct change {
  std::int64_t at_ns;
  block_condition to;
};

/// Of one tenure, in order of time; the last one is `free` if it has ended.
std::vector<change> changes_of(const block_tenure& t) {
  std::vector<change> all{{t.granted_ns, block_condition::leased}};
  if (t.live_ns)
    all.push_back({*t.live_ns, block_condition::live});
  if (t.quarantined_ns)
    all.push_back({*t.quarantined_ns, block_condition::quarantined});
  if (t.reclaimed_ns)
    all.push_back({*t.reclaimed_ns, block_condition::free});
  for (std::size_t i = 1; i < all.size(); ++i) // as they were handled
    all[i].at_ns = std::max(all[i].at_ns, all[i - 1].at_ns);
  return all;
}

/// What was shown from from_ns on is overwritten.
void turn(std::vector<block_span>& spans, std::int64_t at_ns, block_condition to,
          std::optional<std::size_t> tenure) {
  spans.back().to_ns = at_ns;
  if (spans.back().from_ns >= at_ns)
    spans.pop_back();
  spans.push_back({at_ns, at_ns, to, tenure});
}

} // namespace

const char* to_string(block_condition c) {
  switch (c) {
  case block_condition::free: return "free";
  case block_condition::leased: return "leased";
  case block_condition::live: return "live";
  case block_condition::quarantined: return "quarantined";
  }
  return "?";
}

trace_ledgers read_ledgers(const trace_source& source) { return ledger_reading(source).run(); }

std::vector<std::vector<block_span>> spans_by_block(const pool_ledger& pool, std::int64_t end_ns) {
  struct turning {
    change what;
    std::size_t tenure;
  };
  std::vector<turning> all;
  for (std::size_t t = 0; t < pool.tenures.size(); ++t)
    for (const change& c : changes_of(pool.tenures[t]))
      all.push_back({c, t});
  std::stable_sort(all.begin(), all.end(), [](const turning& a, const turning& b) {
    return a.what.at_ns < b.what.at_ns;
  });
  std::vector<std::vector<block_span>> spans(
    pool.formed.blocks, {{pool.formed_ns, pool.formed_ns, block_condition::free, {}}});
  for (const turning& t : all) {
    const bool frees = t.what.to == block_condition::free;
    for (const block_ref& ref : pool.tenures[t.tenure].blocks) {
      if (ref.block.value >= spans.size())
        continue;
      auto& mine = spans[ref.block.value];
      if (t.what.to == block_condition::leased || mine.back().tenure == t.tenure)
        turn(mine, std::max(t.what.at_ns, pool.formed_ns), t.what.to,
             frees ? std::nullopt : std::optional(t.tenure));
    }
  }
  for (auto& mine : spans)
    mine.back().to_ns = std::max(end_ns, mine.back().from_ns);
  return spans;
}

std::vector<ledger_count> counts_of(const pool_ledger& pool) {
  struct moved {
    std::int64_t at_ns;
    block_condition from;
    block_condition to;
    std::int64_t blocks;
  };
  std::vector<moved> all;
  for (const auto& t : pool.tenures) {
    block_condition before = block_condition::free;
    for (const change& c : changes_of(t)) {
      all.push_back({c.at_ns, before, c.to, static_cast<std::int64_t>(t.blocks.size())});
      before = c.to;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const moved& a, const moved& b) { return a.at_ns < b.at_ns; });
  std::vector<ledger_count> counts{{pool.formed_ns, {pool.formed.blocks, 0, 0, 0}}};
  for (const moved& m : all) {
    if (counts.back().at_ns != m.at_ns)
      counts.push_back(counts.back());
    counts.back().at_ns = m.at_ns;
    counts.back().blocks[static_cast<std::size_t>(m.from)] -= m.blocks;
    counts.back().blocks[static_cast<std::size_t>(m.to)] += m.blocks;
  }
  return counts;
}

} // namespace baton::protocol
