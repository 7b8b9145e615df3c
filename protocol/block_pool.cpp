#include "protocol/block_pool.hpp"

#include "protocol/admission.hpp"
#include "protocol/assert.hpp"

#include <algorithm>

namespace baton::protocol::pool {

namespace {

std::uint32_t count(std::size_t n) { return static_cast<std::uint32_t>(n); }

/// Takes `n` free blocks for holder `number`; the caller has checked that there are so many.
std::vector<block_ref> lease_blocks(state& s, std::uint32_t n, std::uint64_t number) {
  BATON_ASSERT(s.free_list.size() >= n);
  std::vector<block_ref> refs;
  refs.reserve(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    const block_id id = s.free_list.back();
    s.free_list.pop_back();
    auto* was = std::get_if<block_free>(&s.blocks[id.value]);
    BATON_ASSERT(was != nullptr);
    const generation gen = was->next;
    s.blocks[id.value] = block_leased{number, gen};
    refs.push_back({id, gen});
  }
  s.ledger.free -= n;
  s.ledger.leased += n;
  return refs;
}

reservation_id begin_holding(state& s, const attempt_id& attempt,
                             const std::vector<block_ref>& refs, bool decodes, workload work,
                             instant now) {
  const reservation_id id{s.config.owner, s.next_number++};
  s.ledger.inflight_bytes += work.inflight_bytes;
  holding h{attempt, {}, holding_phase::leased, decodes, std::move(work), now};
  h.blocks.reserve(refs.size());
  for (const auto& ref : refs)
    h.blocks.push_back(ref.block);
  if (decodes)
    ++s.ledger.slots_used;
  s.holdings.emplace(id.number, std::move(h));
  return id;
}

effect open(state& s, const reserve_request& asked, instant now) {
  const auto& spec = asked.spec;
  const bool mixed = asked.source.group == s.config.group;
  const std::uint32_t total = blocks_needed(s.config, spec.prompt_tokens, spec.output_tokens);
  auto refs = lease_blocks(s, total, s.next_number);
  const reservation_id id
    = begin_holding(s, asked.attempt, refs, true, work_of(s.config, asked), now);
  grant granted;
  granted.attempt = asked.attempt;
  granted.reservation = id;
  granted.sequence = {s.next_sequence++};
  granted.group = s.config.group;
  granted.destination = s.config.owner;
  granted.blocks = std::move(refs);
  granted.prompt_blocks = blocks_needed(s.config, spec.prompt_tokens, 0);
  granted.tp_degree = s.config.tp_degree;
  granted.in_place = mixed || s.config.mapped;
  granted.mapped = !mixed && s.config.mapped;
  granted.bytes = std::uint64_t{total} * s.config.block_bytes;
  return open_reservation{asked, std::move(granted)};
}

effect open(state& s, const start_prefill& asked, instant now) {
  const std::uint32_t n
    = asked.granted.in_place ? 0 : blocks_needed(s.config, asked.spec.prompt_tokens, 0);
  auto refs = lease_blocks(s, n, s.next_number);
  const reservation_id id
    = begin_holding(s, asked.attempt, refs, false, work_of(s.config, asked), now);
  return open_hold{asked, id, {s.next_sequence++}, std::move(refs)};
}

effect refuse(const reserve_request& asked, failure why) {
  return reserve_refused{asked.attempt, std::move(why)};
}
effect refuse(const start_prefill& asked, failure why) {
  return prefill_refused{asked.attempt, std::move(why)};
}

template <class Asked>
constexpr hand_off_side side_of = std::is_same_v<Asked, reserve_request>
                                    ? hand_off_side::destination
                                    : hand_off_side::source;

bool is_of(const waiting& w, const attempt_id& attempt, hand_off_side side) {
  return std::visit(
    [&](const auto& asked) {
      return asked.attempt == attempt && side_of<std::decay_t<decltype(asked)>> == side;
    },
    w.asked);
}

bool waits(const state& s, const attempt_id& attempt, hand_off_side side) {
  return std::any_of(s.queue.begin(), s.queue.end(),
                     [&](const waiting& w) { return is_of(w, attempt, side); });
}

bool is_of(const holding& h, const attempt_id& attempt, hand_off_side side) {
  return h.attempt == attempt && h.decodes == (side == hand_off_side::destination);
}

/// What the attempt holds on that side; null when it holds nothing.
const std::pair<const std::uint64_t, holding>* held_by(const state& s, const attempt_id& attempt,
                                                       hand_off_side side) {
  const auto it = std::find_if(s.holdings.begin(), s.holdings.end(),
                               [&](const auto& h) { return is_of(h.second, attempt, side); });
  return it == s.holdings.end() ? nullptr : &*it;
}

/// An attempt that asks twice is granted once. It waits; or its answer was lost, and its holder is
/// made to say it again.
bool answered_again(const state& s, std::vector<effect>& effects, const attempt_id& attempt,
                    hand_off_side side) {
  if (const auto* held = held_by(s, attempt, side)) {
    const reservation_id id{s.config.owner, held->first};
    if (side == hand_off_side::destination)
      effects.push_back(query_reservation{attempt, id});
    else
      effects.push_back(query_source{attempt, id});
    return true;
  }
  return waits(s, attempt, side);
}

template <class Asked>
void admit_or_wait(state& s, std::vector<effect>& effects, const Asked& asked, instant now) {
  if (answered_again(s, effects, asked.attempt, side_of<Asked>))
    return;
  const admission_verdict verdict = admit(s, asked, admission_view::newcomer, now, now);
  if (!verdict.why) {
    effects.push_back(open(s, asked, now));
    return;
  }
  const bool may_wait = verdict.would_fit_later && asked.spec.queue_ms > 0;
  if (may_wait && s.queue.size() < s.config.waiting_max) {
    s.queue.push_back({asked, after_ms(now, asked.spec.queue_ms), now});
    effects.push_back(arm_timer{asked.spec.queue_ms});
    return;
  }
  effects.push_back(refuse(asked, verdict.why));
}

/// Lets in those who wait, in order; a large one at the head is not overtaken by small ones. Whose
/// deadline cannot be met any more does not keep the others waiting.
void admit_waiting(state& s, std::vector<effect>& effects, instant now) {
  while (!s.queue.empty()) {
    auto& head = s.queue.front();
    const bool answered = std::visit(
      [&](const auto& asked) {
        const auto verdict = admit(s, asked, admission_view::from_queue, now, head.since);
        if (verdict.why && verdict.would_fit_later)
          return false;
        effects.push_back(verdict.why ? refuse(asked, verdict.why) : open(s, asked, now));
        return true;
      },
      head.asked);
    if (!answered)
      return;
    s.queue.pop_front();
  }
}

/// Its bytes are in flight no more: they have landed, or are proven unable to.
void end_flight(state& s, holding& h) {
  BATON_ASSERT(s.ledger.inflight_bytes >= h.work.inflight_bytes);
  s.ledger.inflight_bytes -= h.work.inflight_bytes;
  h.work.inflight_bytes = 0;
}

/// Holdings are this life's own: another incarnation's id is a broken invariant (I10).
auto find_holding(state& s, const reservation_id& id) {
  BATON_ASSERT(id.owner == s.config.owner);
  return s.holdings.find(id.number);
}

void move_to(state& s, holding& h, holding_phase next) {
  auto& from = h.phase == holding_phase::leased ? s.ledger.leased : s.ledger.live;
  auto& to = next == holding_phase::live ? s.ledger.live : s.ledger.quarantined;
  from -= count(h.blocks.size());
  to += count(h.blocks.size());
  h.phase = next;
}

struct stepper {
  state& s;
  std::vector<effect>& effects;
  instant now;

  void operator()(const form_pool& e) {
    BATON_ASSERT(s.blocks.empty());
    BATON_ASSERT(e.blocks > 0 && e.block_tokens > 0);
    s.config = e;
    s.blocks.assign(e.blocks, block_free{{1}});
    for (std::uint32_t i = e.blocks; i > 0; --i)
      s.free_list.push_back({i - 1});
    s.ledger.free = e.blocks;
  }

  void operator()(const reserve_request& e) { admit_or_wait(s, effects, e, now); }
  void operator()(const start_prefill& e) { admit_or_wait(s, effects, e, now); }

  void operator()(const withdraw_attempt& e) {
    if (const auto* held = held_by(s, e.attempt, e.side)) { // its answer was lost, or is on its way
      const reservation_id id{s.config.owner, held->first};
      if (e.side == hand_off_side::destination)
        effects.push_back(revoke_reservation{e.attempt, id, e.why});
      else
        effects.push_back(cancel_source{e.attempt, id, e.why});
      return;
    }
    const auto mine = [&](const waiting& w) { return is_of(w, e.attempt, e.side); };
    const auto it = std::find_if(s.queue.begin(), s.queue.end(), mine);
    const failure why{reason::cancelled, it == s.queue.end() ? "nothing is held for the attempt"
                                                             : "withdrawn while waiting for room"};
    if (e.side == hand_off_side::destination)
      effects.push_back(reserve_refused{e.attempt, why});
    else
      effects.push_back(prefill_refused{e.attempt, why});
    if (it == s.queue.end())
      return;
    s.queue.erase(it);
    admit_waiting(s, effects, now);
  }

  // -- words for a holder, from another node: what they name may be gone, or of another life

  /// Passes the word on, or gives `gone` for an answer.
  template <class Word, class Answer>
  void pass_on(const Word& e, const reservation_id& id, hand_off_side side, Answer gone) {
    if (id.owner != s.config.owner || id.number >= s.next_number)
      return; // I10: not of this life
    const auto it = s.holdings.find(id.number);
    if (it == s.holdings.end())
      effects.push_back(std::move(gone));
    else if (it->second.decodes == (side == hand_off_side::destination))
      effects.push_back(e);
  }

  void operator()(const manifest_offered& e) {
    const failure why{reason::not_found, "the reservation is gone"};
    pass_on(e, e.reservation, hand_off_side::destination,
            transfer_refused{e.reservation, e.hold, why});
  }
  void operator()(const commit& e) { tell_reservation(e); }
  void operator()(const revoke_reservation& e) { tell_reservation(e); }
  void operator()(const query_reservation& e) { tell_reservation(e); }
  template <class Word>
  void tell_reservation(const Word& e) {
    pass_on(e, e.reservation, hand_off_side::destination,
            reservation_reclaimed{e.attempt, e.reservation});
  }
  void operator()(const cancel_source& e) { tell_hold(e); }
  void operator()(const query_source& e) { tell_hold(e); }
  template <class Word>
  void tell_hold(const Word& e) {
    pass_on(e, e.hold, hand_off_side::source, source_released{e.attempt, e.hold});
  }

  // -- words of its own holders

  void operator()(const mark_live& e) {
    const auto it = find_holding(s, e.reservation);
    BATON_ASSERT(it != s.holdings.end() && it->second.phase == holding_phase::leased);
    for (const block_id id : it->second.blocks) {
      auto* was = std::get_if<block_leased>(&s.blocks[id.value]);
      BATON_ASSERT(was != nullptr && was->holder == e.reservation.number);
      s.blocks[id.value] = block_live{was->holder, was->gen};
    }
    move_to(s, it->second, holding_phase::live);
    it->second.since = now;
    end_flight(s, it->second);
    admit_waiting(s, effects, now);
  }

  void operator()(const quarantine_blocks& e) {
    const auto it = find_holding(s, e.reservation);
    if (it == s.holdings.end() || it->second.phase == holding_phase::quarantined)
      return;
    for (const block_id id : it->second.blocks) {
      auto& block = s.blocks[id.value];
      const generation gen = std::holds_alternative<block_leased>(block)
                               ? std::get<block_leased>(block).gen
                               : std::get<block_live>(block).gen;
      block = block_quarantined{e.reservation.number, gen};
    }
    move_to(s, it->second, holding_phase::quarantined);
  }

  void operator()(const reclaim_blocks& e) {
    const auto it = find_holding(s, e.reservation);
    if (it == s.holdings.end()) { // a second reclaim is harmless
      effects.push_back(blocks_reclaimed{e.reservation});
      return;
    }
    holding& h = it->second;
    BATON_ASSERT(h.phase == holding_phase::quarantined);
    for (const block_id id : h.blocks) {
      const auto* was = std::get_if<block_quarantined>(&s.blocks[id.value]);
      BATON_ASSERT(was != nullptr && was->holder == e.reservation.number);
      s.blocks[id.value] = block_free{{was->gen.value + 1}};
      s.free_list.push_back(id);
    }
    s.ledger.quarantined -= count(h.blocks.size());
    s.ledger.free += count(h.blocks.size());
    end_flight(s, h);
    if (h.decodes)
      --s.ledger.slots_used;
    s.holdings.erase(it);
    effects.push_back(blocks_reclaimed{e.reservation});
    admit_waiting(s, effects, now);
  }

  void operator()(const wait_expired&) {
    for (auto it = s.queue.begin(); it != s.queue.end();) {
      if (now < it->expires) {
        ++it;
        continue;
      }
      effects.push_back(std::visit(
        [&](const auto& asked) { return refuse(asked, room_for(s, asked).why); }, it->asked));
      it = s.queue.erase(it);
    }
    admit_waiting(s, effects, now);
  }
};

} // namespace

step_result step(state before, const event& event, instant now) {
  BATON_ASSERT(!before.blocks.empty() || std::holds_alternative<form_pool>(event));
  step_result result{std::move(before), {}};
  std::visit(stepper{result.state, result.effects, now}, event);
  const auto& l = result.state.ledger;
  BATON_ASSERT(l.free + l.leased + l.live + l.quarantined == result.state.config.blocks); // I12
  BATON_ASSERT(l.free == result.state.free_list.size());
  BATON_ASSERT(!result.state.holdings.empty() || l.inflight_bytes == 0);
  return result;
}

const char* name_of(const state& s) { return s.blocks.empty() ? "nascent" : "ready"; }

std::uint32_t blocks_needed(const form_pool& config, std::uint32_t prompt_tokens,
                            std::uint32_t output_tokens) {
  const std::uint64_t tokens = std::uint64_t{prompt_tokens} + output_tokens;
  return static_cast<std::uint32_t>((tokens + config.block_tokens - 1) / config.block_tokens);
}

} // namespace baton::protocol::pool
