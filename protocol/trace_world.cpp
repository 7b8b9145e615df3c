#include "protocol/trace_world.hpp"

#include "protocol/limits.hpp"
#include "protocol/transfer_manifest.hpp"

#include <algorithm>

namespace baton::protocol {

namespace {

struct applier {
  trace_world& w;
  const trace_step& step;

  void operator()(const std::monostate&) {}

  // -- pools and charges --------------------------------------------------------------------------

  void operator()(const form_pool& e) {
    pool_facts pool{e, step.index, step.key.section, {}, 0, 0};
    pool.blocks.resize(std::min<std::size_t>(e.blocks, limits::pool_blocks_max));
    w.pools[e.owner] = std::move(pool);
  }

  void grant_charge(charge c) {
    c.granted_at = step.index;
    const auto pool = w.pools.find(c.id.owner);
    if (pool != w.pools.end()) {
      for (const auto& ref : c.blocks)
        if (ref.block.value < pool->second.blocks.size())
          pool->second.blocks[ref.block.value] = {ref.gen, c.id.number, step.index, {}};
      pool->second.charged_blocks += c.blocks.size();
      ++pool->second.charges_open;
      if (c.kind == charge::side::destination)
        ++pool->second.slots_used;
    }
    w.charge_of_actor[step.key.actor] = c.id;
    const reservation_id id = c.id;
    w.charges[id] = std::move(c);
  }

  void operator()(const begin_reservation& e) {
    const grant& granted = e.opened.granted;
    charge c;
    c.id = granted.reservation;
    c.attempt = granted.attempt;
    c.sequence = granted.sequence;
    c.blocks = granted.blocks;
    c.mapped = granted.mapped;
    c.lease_end = after_ms({step.record.begin_ns}, e.lease_ms);
    c.expected = destination_manifest(e.model, e.opened.asked, granted);
    w.destinations[c.attempt].push_back(c.id);
    grant_charge(std::move(c));
  }

  void operator()(const begin_hold& e) {
    const grant& granted = e.opened.asked.granted;
    charge c;
    c.kind = charge::side::source;
    c.id = e.opened.hold;
    c.attempt = e.opened.asked.attempt;
    c.sequence = e.opened.sequence;
    c.blocks = e.opened.blocks;
    c.destination = granted.reservation;
    w.holds[c.destination].push_back(c.id);
    if (charge* written = granted.in_place ? w.find(c.destination) : nullptr)
      written->in_place_holds.push_back(c.id);
    grant_charge(std::move(c));
  }

  void operator()(const reclaim_blocks& e) {
    charge* c = step.at("pool") ? w.find(e.reservation) : nullptr;
    const auto pool = w.pools.find(e.reservation.owner);
    if (c == nullptr || c->reclaimed_at)
      return;
    c->reclaimed_at = step.index;
    if (pool != w.pools.end()) {
      for (const auto& ref : c->blocks)
        if (ref.block.value < pool->second.blocks.size()
            && pool->second.blocks[ref.block.value].holder == c->id.number)
          pool->second.blocks[ref.block.value].freed_at = step.index;
      pool->second.charged_blocks -= std::min<std::uint64_t>(pool->second.charged_blocks,
                                                             c->blocks.size());
      --pool->second.charges_open;
      if (c->kind == charge::side::destination)
        --pool->second.slots_used;
    }
    c->blocks = {};
    c->expected.reset();
  }

  // -- evidence -----------------------------------------------------------------------------------

  void operator()(const manifest_offered& e) {
    charge* c = step.at("reservation") ? w.held_by(step) : nullptr;
    if (c == nullptr || !c->expected)
      return;
    c->offered_at = step.index;
    c->let_in = e.hold;
    c->manifest_problem = check_manifest(*c->expected, e.offered).text;
    c->expected.reset();
  }

  void operator()(const open_lane& e) {
    if (!step.at("lane"))
      return;
    if (lane_facts* l = w.lane(e.lane); l != nullptr && !l->opened_at) {
      l->opened_at = step.index;
      l->section = step.key.section;
      l->source_life = e.source_life;
      l->pieces_wanted = e.blocks.size() + (e.resume_bytes > 0 ? 1 : 0);
    }
  }
  void operator()(const receives_quiesced& e) {
    if (lane_facts* l = step.at("lane") ? w.lane(e.lane) : nullptr)
      l->quiesced_at = step.index;
  }
  void note_landing(lane_facts& l, const lane_landed& e) {
    if (!l.landed_at)
      l.resume_digest = e.resume_digest;
    l.landed_at = step.index;
  }
  void operator()(const lane_landed& e) {
    if (lane_facts* l = step.at("reservation") ? w.lane(e.lane) : nullptr)
      note_landing(*l, e);
    if (charge* c = w.held_by(step); c != nullptr && step.did("transfer_completed"))
      c->completed_at = step.index;
  }
  void operator()(const lane_stopped& e) {
    if (lane_facts* l = step.at("reservation") ? w.lane(e.lane) : nullptr)
      l->stopped_at = step.index;
  }
  void operator()(const lane_lost&) {}
  void operator()(const piece_landed& e) {
    lane_facts* l = step.at("lane") ? w.lane(e.lane) : nullptr;
    if (l == nullptr)
      return;
    if (!l->received_at)
      l->pieces.insert(e.piece);
    if (!step.did("send_receipt"))
      return;
    l->received_at = step.index;
    l->pieces = {};
  }

  void operator()(const open_feed& e) {
    if (step.at("feed") && e.block_tokens > 0)
      w.feeds.try_emplace(step.key.actor,
                          offer_facts{step.index, e.block_tokens, e.prompt_tokens, 0});
    charge* hold = step.at("feed") ? w.hold_of(e.lane.reservation, e.sequence) : nullptr;
    if (hold == nullptr)
      return;
    const feed_facts begun{step.index, step.key.section, {}, {}};
    if (step.record.before == "nascent") // whatever was said before that it ended
      hold->feeds.insert_or_assign(e.lane, begun);
    else // said again
      hold->feeds.try_emplace(e.lane, begun);
  }
  void operator()(const source_ready&) {
    const auto feed = step.at("feed") ? w.feeds.find(step.key.actor) : w.feeds.end();
    const auto& effects = step.record.effects;
    if (feed != w.feeds.end())
      feed->second.offered += std::count(effects.begin(), effects.end(), "offer_piece");
  }
  void feed_ended(const lane_id& id) {
    charge* hold = step.at("source_hold") ? w.held_by(step) : nullptr;
    if (hold != nullptr && id.reservation == hold->destination && !hold->feeds[id].ended_at)
      hold->feeds[id].ended_at = step.index;
  }
  void operator()(const feed_received& e) {
    feed_ended(e.lane);
    charge* hold = step.at("source_hold") ? w.held_by(step) : nullptr;
    if (hold != nullptr && e.lane.reservation == hold->destination)
      hold->feeds[e.lane].received_at = step.index;
  }
  void operator()(const feed_stopped& e) { feed_ended(e.lane); }

  void operator()(const sequence_quiesced&) {
    if (charge* c = w.held_by(step))
      c->quiesced_at = step.index;
  }

  // -- commits, claims, streams -------------------------------------------------------------------

  void operator()(const commit&) {
    charge* c = step.at("reservation") ? w.held_by(step) : nullptr;
    if (c != nullptr && step.did("activate_sequence")) // said again, it is `committed` alone
      c->committed_at = step.index;
  }
  void operator()(const commit_claimed& e) {
    if (!step.at("attempt") || e.refusal)
      return;
    w.claims.emplace(e.attempt, step.index);
    const ownership unasked{w.turn, ownership::never, {}};
    auto& owners = w.requests[e.attempt.request].owners;
    owners.try_emplace(e.attempt, unasked).first->second.granted_at = step.index;
  }
  void operator()(const claim_commit& e) {
    auto& request = w.requests[e.attempt.request];
    if (step.at("request") && step.did("commit_claimed") && !request.is_owned_by(e.attempt))
      request.owners[e.attempt] = {w.turn, ownership::never, {}};
  }
  void give_up(const attempt_id& attempt) {
    auto& owners = w.requests[attempt.request].owners;
    const auto it = step.at("request") ? owners.find(attempt) : owners.end();
    if (it != owners.end() && it->second.until == ownership::never)
      it->second.until = w.turn;
  }
  void operator()(const commit_abandoned& e) { give_up(e.attempt); }
  void operator()(const attempt_failed& e) { give_up(e.attempt); }
  void operator()(const reservation_reclaimed& e) {
    if (step.at("attempt") && told_by_holder(step))
      w.told_reclaimed.try_emplace(e.reservation,
                                   told_facts{step.index, step.record.header.cause});
  }
  void operator()(const activate_sequence&) {}

  void operator()(const open_request& e) {
    auto& request = w.requests[e.request];
    request.external = e.spec.external;
    request.opened_at = step.index;
  }
  void operator()(const token_emitted& e) {
    if (step.at("request") && step.did("frame_forwarded"))
      w.requests[e.attempt.request].next_at_router = e.index + 1;
  }
  void operator()(const frame_forwarded& e) {
    if (!step.at_client())
      return;
    auto& request = w.requests[e.attempt.request];
    request.next_at_client = e.index + 1;
    request.frame_at = step.index;
  }
  void operator()(const submit_request& e) {
    if (!step.sender_section)
      return; // nothing is left of that client
    auto& name = w.externals[{*step.sender_section, e.spec.external.value}];
    ++name.submitted;
    name.last_at = step.index;
  }
  void operator()(const request_ended& e) {
    if (!step.at_client())
      return;
    auto& name = w.externals[{step.key.section, e.external.value}];
    ++name.ended;
    name.last_at = step.index;
  }

  void operator()(const reserve_granted&) {}
  void operator()(const prefill_accepted&) {}
  void operator()(const source_released&) {}
  void operator()(const reservation_quarantined&) {}
  void operator()(const revoke_reservation&) {}
  void operator()(const cancel_source&) {}

  // -- groups -------------------------------------------------------------------------------------

  void operator()(const group_lost& e) {
    fence f{{}, step.index};
    for (const std::uint32_t section : w.seen_sections)
      if (group_of_node(w.sections[section].header.node.value) == e.group.value)
        f.sections.insert(section);
    w.fences[step.key.actor].push_back(std::move(f));
  }
  void operator()(const run_step& e) {
    if (!step.record.machine.empty())
      return;
    auto& schedule = w.schedules[schedule_of(step, e)];
    schedule.steps.try_emplace(e.step.value,
                               schedule_facts::step_facts{slices_text(e), step.index});
    schedule.ranks[step.key.section] = {e.step.value, step.index};
  }
  void operator()(const poison_rank&) {}
  void operator()(const step_completed&) {} // these three: trace_groups.cpp
  void operator()(const step_failed&) {}
  void operator()(const rank_lost&) {}
  void operator()(const deadline_reached&) {}
  void operator()(const expect_cluster&) {} // these six: trace_members.cpp
  void operator()(const node_joined&) {}
  void operator()(const node_lost&) {}
  void operator()(const place_attempt&) {}
  void operator()(const attempt_placed&) {}
  void operator()(const attempt_drained&) {}
  void operator()(const lane_admitted&) {} // these seven: trace_writers.cpp
  void operator()(const lane_opened&) {}
  void operator()(const stop_lane&) {}
  void operator()(const writer_stopped&) {}
  void operator()(const process_reaped&) {}
  void operator()(const pages_replaced&) {}
  void operator()(const ended_plan&) {}
};

/// The last of these charges that was granted for the sequence; null where there is none.
template <class World>
auto newest_of(World& world, const std::vector<reservation_id>& ids, const sequence_id& sequence) {
  const auto serves
    = [&](const reservation_id& id) { return world.find(id)->sequence == sequence; };
  const auto it = std::find_if(ids.rbegin(), ids.rend(), serves);
  return it == ids.rend() ? nullptr : world.find(*it);
}

} // namespace

void trace_world::apply(const trace_step& step) {
  seen_sections.insert(step.key.section);
  if (step.at("reservation") && step.did("reservation_reclaimed"))
    if (charge* c = held_by(step); c != nullptr && !c->said_reclaimed_at)
      c->said_reclaimed_at = step.index;
  std::visit(applier{*this, step}, step.fact);
  if (step.at("source_hold") && step.did("submit_prefill"))
    if (charge* hold = held_by(step))
      hold->submitted_at = step.index;
  if (step.at("rank_group") && step.did("poison_rank"))
    poisoned_leaders.insert(step.key.section);
  note_group(*this, step);
  note_writers(*this, step);
  note_members(*this, step);
  if (step.at("attempt"))
    debts[step.key.actor] = after(debts[step.key.actor], step);
  if (step.at("request") && step.did("end_actor"))
    requests[step.record.request].gone_at = step.index;
  if (step.at("request") && step.did("request_ended"))
    requests[step.record.request].ended_at = step.index;
  ++turn;
}

bool request_facts::is_owned_by(const attempt_id& attempt) const {
  const auto it = owners.find(attempt);
  return it != owners.end() && it->second.granted_at && it->second.until == ownership::never;
}

const charge* trace_world::find(const reservation_id& id) const {
  const auto it = charges.find(id);
  return it == charges.end() ? nullptr : &it->second;
}
charge* trace_world::find(const reservation_id& id) {
  const auto it = charges.find(id);
  return it == charges.end() ? nullptr : &it->second;
}

const charge* trace_world::held_by(const trace_step& step) const {
  const auto it = charge_of_actor.find(step.key.actor);
  return it == charge_of_actor.end() ? nullptr : find(it->second);
}
charge* trace_world::held_by(const trace_step& step) {
  const auto it = charge_of_actor.find(step.key.actor);
  return it == charge_of_actor.end() ? nullptr : find(it->second);
}

charge* trace_world::hold_of(const reservation_id& destination, const sequence_id& sequence) {
  const auto all = holds.find(destination);
  return all == holds.end() ? nullptr : newest_of(*this, all->second, sequence);
}

const charge* trace_world::destination_of(const attempt_id& attempt,
                                          const sequence_id& sequence) const {
  const auto all = destinations.find(attempt);
  return all == destinations.end() ? nullptr : newest_of(*this, all->second, sequence);
}

const pool_facts* trace_world::pool_of(const reservation_id& id) const {
  const auto it = pools.find(id.owner);
  return it == pools.end() ? nullptr : &it->second;
}

lane_facts* trace_world::lane(const lane_id& id) {
  charge* c = find(id.reservation);
  return c == nullptr ? nullptr : &c->lanes[id];
}
const lane_facts* trace_world::lane(const lane_id& id) const {
  const charge* c = find(id.reservation);
  const auto it = c == nullptr ? decltype(c->lanes.begin()){} : c->lanes.find(id);
  return c == nullptr || it == c->lanes.end() ? nullptr : &it->second;
}

bool told_by_holder(const trace_step& step) {
  return step.record.header.sender.find(":reservation/") != std::string::npos;
}

bool is_same_word(const told_facts& told, const trace_step& step) {
  return told.cause != 0 && told.cause == step.record.header.cause;
}

std::string group_of_node(const std::string& node) { return node.substr(0, node.rfind('.')); }

schedule_key schedule_of(const trace_step& step, const run_step& e) {
  return {step.sender_section.value_or(no_section), e.epoch.value};
}

std::string slices_text(const run_step& e) {
  std::string text;
  for (const auto& s : e.slices)
    text += (text.empty() ? "" : " ") + std::to_string(s.sequence.value) + ":"
            + std::to_string(static_cast<int>(s.kind)) + ":" + std::to_string(s.start) + "+"
            + std::to_string(s.count);
  return text;
}

} // namespace baton::protocol
