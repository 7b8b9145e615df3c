#include "tests/protocol/conversation.hpp"

#include "tests/protocol/conversation_mail.hpp"

namespace baton::tests {

using namespace protocol;

void conversation::run(request_party& me, const request::effect& effect) {
  std::visit(overloaded{
               [&](const start_attempt& e) { start(e); },
               [&](const cancel_attempt& e) { tell(me.name, attempts_.at(e.attempt.ordinal), e); },
               [&](const commit_claimed& e) { tell(me.name, attempts_.at(e.attempt.ordinal), e); },
               [&](const frame_forwarded& e) {
                 if (e.index != frames_.size())
                   breach("I8: the client sees a gap or a repeat");
                 frames_.push_back(e);
                 if (trace_ != nullptr)
                   trace_->heard("client", "client", e, now_);
               },
               [&](const request_ended& e) {
                 outcomes_.push_back(e);
                 if (trace_ != nullptr)
                   trace_->heard("client", "client", e, now_);
               },
               [&](const arm_timer& e) { wake(me, e.delay_ms, deadline_reached{}); },
               [&](const arm_frames& e) { wake(me, e.delay_ms, frames_overdue{}); },
               [](const end_actor&) {},
             },
             effect);
}

void conversation::start(const start_attempt& e) {
  attempt_party& attempt = attempts_[e.attempt.ordinal];
  attempt.name = "attempt " + std::to_string(e.attempt.ordinal);
  attempt.ordinal = e.attempt.ordinal;
  tell(request_.name, attempt, e);
}

void conversation::run(attempt_party& me, const attempt::effect& effect) {
  const auto decode_pool = [&](const auto& e) { tell_far(me.name, pools_.at("D3"), e); };
  const auto source_pool = [&](const auto& e) { tell_far(me.name, pools_.at(source_group()), e); };
  std::visit(overloaded{
               [&](const place_attempt& e) {
                 tell("router", me, attempt_placed{e.attempt, sample_source(setup_.shape), {"D3"}});
               },
               [&](reserve_request e) {
                 e.prompt = sample_prompt();
                 decode_pool(e);
               },
               [&](start_prefill e) {
                 e.prompt = sample_prompt();
                 source_pool(e);
               },
               [&](const withdraw_attempt& e) {
                 e.side == hand_off_side::destination ? decode_pool(e) : source_pool(e);
               },
               [&](const commit& e) { decode_pool(e); },
               [&](const revoke_reservation& e) { decode_pool(e); },
               [&](const query_reservation& e) { decode_pool(e); },
               [&](const cancel_source& e) { source_pool(e); },
               [&](const query_source& e) { source_pool(e); },
               [&](const arm_answer& e) { wake(me, e.delay_ms, answer_overdue{}); },
               [](const end_actor&) {},
               [&](const auto& e) { tell(me.name, request_, e); },
             },
             effect);
}

template <class Event>
void conversation::pass_to_reservation(pool_party& from, const Event& event) {
  tell(from.name, reservations_.at(event.reservation.number), event);
}
template <class Event>
void conversation::pass_to_hold(pool_party& from, const Event& event) {
  tell(from.name, holds_.at(event.hold.number), event);
}

void conversation::run(pool_party& me, const pool::effect& effect) {
  const auto to_attempt = [&](const auto& e) {
    tell_far(me.name, attempts_.at(e.attempt.ordinal), e);
  };
  std::visit(overloaded{
               [&](const open_reservation& e) { start(me, e); },
               [&](const open_hold& e) { start(me, e); },
               [&](const manifest_offered& e) { pass_to_reservation(me, e); },
               [&](const commit& e) { pass_to_reservation(me, e); },
               [&](const revoke_reservation& e) { pass_to_reservation(me, e); },
               [&](const query_reservation& e) { pass_to_reservation(me, e); },
               [&](const cancel_source& e) { pass_to_hold(me, e); },
               [&](const query_source& e) { pass_to_hold(me, e); },
               [&](const transfer_refused& e) {
                 tell_far(me.name, holds_.at(e.hold.number), e);
               },
               [&](const blocks_reclaimed& e) {
                 const auto r = reservations_.find(e.reservation.number);
                 if (r != reservations_.end() && r->second.granted.reservation == e.reservation)
                   tell(me.name, r->second, e);
                 else
                   tell(me.name, holds_.at(e.reservation.number), e);
               },
               [&](const arm_timer& e) { wake(me, e.delay_ms, wait_expired{}); },
               [&](const auto& e) { to_attempt(e); },
             },
             effect);
}

void conversation::start(pool_party& from, const open_reservation& e) {
  const std::uint64_t number = e.granted.reservation.number;
  reservation_party& r = reservations_[number];
  r.name = "reservation " + std::to_string(number);
  r.granted = e.granted;
  tell(from.name, r, begin_reservation{e, sample_model(), setup_.lease_ms});
}

void conversation::start(pool_party& from, const open_hold& e) {
  hold_party& hold = holds_[e.hold.number];
  hold.name = "hold " + std::to_string(e.hold.number);
  hold.opened = e;
  tell(from.name, hold,
       begin_hold{e, sample_model(), setup_.shape.source_tp, sample_block_tokens,
                  setup_.retention_ms});
}

void conversation::run(reservation_party& me, const reservation::effect& effect) {
  attempt_party& attempt = attempts_.at(me.granted.attempt.ordinal);
  const auto pool = [&](const auto& e) { tell(me.name, pools_.at("D3"), e); };
  const auto group = [&](const auto& e) { tell(me.name, groups_.at("D3"), e); };
  std::visit(overloaded{
               [&](const open_lane& e) { to_lane_rank(me, e); },
               [&](const ask_lane& e) { to_lane_rank(me, e); },
               [&](const stop_lane& e) {
                 if (me.granted.in_place && !me.granted.mapped)
                   tell(me.name, holds_.at(me.hold), e);
                 else
                   to_lane_rank(me, e);
               },
               [&](const transfer_opened& e) {
                 me.hold = e.hold.number;
                 tell_far(me.name, holds_.at(me.hold), e);
               },
               [&](const transfer_refused& e) {
                 tell_far(me.name, holds_.at(e.hold.number), e);
               },
               [&](const mark_live& e) { pool(e); },
               [&](const quarantine_blocks& e) { pool(e); },
               [&](const reclaim_blocks& e) {
                 check_reclaim(pools_.at("D3"), e.reservation);
                 pool(e);
               },
               [&](const activate_sequence& e) { group(e); },
               [&](const cancel_sequence& e) { group(e); },
               [&](const arm_lease& e) { wake(me, e.delay_ms, lease_expired{}); },
               [&](const arm_hold& e) { wake(me, e.delay_ms, hold_ended{}); },
               [&](const arm_evidence& e) { wake(me, e.delay_ms, evidence_due{}); },
               [](const forget_attempt&) {},
               [](const end_actor&) {},
               [&](const auto& e) { tell_far(me.name, attempt, e); },
             },
             effect);
}

void conversation::run(hold_party& me, const source_hold::effect& effect) {
  attempt_party& attempt = attempts_.at(me.opened.asked.attempt.ordinal);
  reservation_party& reservation = reservations_.at(me.opened.asked.granted.reservation.number);
  const auto pool = [&](const auto& e) { tell(me.name, pools_.at(source_group()), e); };
  const auto group = [&](const auto& e) { tell(me.name, groups_.at(source_group()), e); };
  std::visit(overloaded{
               [&](const manifest_offered& e) { tell_far(me.name, pools_.at("D3"), e); },
               [&](const submit_prefill& e) { group(e); },
               [&](const cancel_sequence& e) { group(e); },
               [&](const open_feed& e) { to_feed_rank(me, e); },
               [&](const ask_feed& e) { to_feed_rank(me, e); },
               [&](const withdraw_feed& e) { to_feed_rank(me, e); },
               [&](const lane_landed& e) { tell(me.name, reservation, e); },
               [&](const lane_stopped& e) { tell(me.name, reservation, e); },
               [&](const quarantine_blocks& e) { pool(e); },
               [&](const reclaim_blocks& e) {
                 check_reclaim(pools_.at(source_group()), e.reservation);
                 pool(e);
               },
               [&](const arm_timer& e) { wake(me, e.delay_ms, retention_expired{}); },
               [&](const arm_evidence& e) { wake(me, e.delay_ms, evidence_due{}); },
               [&](const end_sequence& e) {
                 for (std::uint16_t r = 0; setup_.shape.mapped && r < setup_.shape.source_tp; ++r)
                   send_far(me.name, "rank P7." + std::to_string(r), e.type,
                            [this, &me, r] { end_at_rank(me, {r}); });
               },
               [](const end_actor&) {},
               [&](const auto& e) { tell_far(me.name, attempt, e); },
             },
             effect);
}

void conversation::run(lane_party& me, const lane::effect& effect) {
  reservation_party& reservation = reservations_.at(me.opened.lane.reservation.number);
  std::visit(overloaded{
               [&](const admit_lane& e) {
                 send(me.name, "transfer D3", e.type, [this, &me] {
                   if (is_mapped(me.opened))
                     static_cast<void>(written_[me.opened.lane.destination].begin(me.opened));
                   table_.emplace(me.opened.lane, table_entry{});
                   tell("transfer D3", me, lane_admitted{me.opened.lane});
                 });
               },
               [&](const revoke_lane& e) {
                 send(me.name, "transfer D3", e.type, [this, &me] { revoke(me); });
               },
               [&](const send_receipt& e) {
                 send(me.name, "transfer D3", e.type, [this, &me] {
                   table_.at(me.opened.lane).received = true;
                   notify_source(me.opened.lane);
                 });
               },
               [](const end_actor&) {},
               [&](const auto& e) { tell_far(me.name, reservation, e); },
             },
             effect);
}

void conversation::run(feed_party& me, const feed::effect& effect) {
  hold_party* hold = nullptr;
  for (auto& [number, h] : holds_)
    if (h.opened.sequence == me.opened.sequence)
      hold = &h;
  const auto resume = static_cast<std::uint32_t>(me.opened.destination_blocks.size());
  std::visit(overloaded{
               [&](const offer_piece& e) { offer(me, e.piece); },
               [&](const offer_resume&) { offer(me, resume); },
               [](const withdraw_offers&) {}, // all of them are posted already
               [&](const query_lane& e) {
                 const lane_id lane = e.lane;
                 send_far(me.name, "transfer D3", e.type, [this, lane] { answer_query(lane); });
               },
               [&](const arm_timer& e) { wake(me, e.delay_ms, query_due{}); },
               [&](const arm_stall& e) { wake(me, e.delay_ms, stall_ended{}); },
               [](const end_actor&) {},
               [&](const feed_received& e) {
                 feed_floors_[e.lane.source].note_received(reader_of(e.lane),
                                                           me.opened.source_blocks.front());
                 tell_far(me.name, *hold, e);
               },
               [&](const auto& e) { tell_far(me.name, *hold, e); },
             },
             effect);
}

template <class Event>
void conversation::to_owner(group_party& from, const sequence_id& sequence, const Event& event) {
  const std::string group = from.name.substr(6);
  if (group == "D3")
    for (auto& [number, r] : reservations_)
      if (r.granted.sequence == sequence) {
        if constexpr (std::is_constructible_v<reservation::event, Event>)
          tell(from.name, r, event);
        return;
      }
  for (auto& [number, h] : holds_)
    if (h.opened.sequence == sequence && source_group() == group)
      if constexpr (std::is_constructible_v<source_hold::event, Event>)
        tell(from.name, h, event);
}

void conversation::run(group_party& me, const rank_group::effect& effect) {
  const std::string group = me.name.substr(6);
  std::visit(overloaded{
               [&](const begin_sequence& e) {
                 auto& refs = sequences_[{group, e.sequence}];
                 for (const block_id id : e.blocks)
                   std::visit(overloaded{[&](const pool::block_free&) {
                                           breach("a sequence begins on a free block");
                                         },
                                         [&](const auto& b) { refs.push_back({id, b.gen}); }},
                              pools_.at(memory_of(group)).state.blocks.at(id.value));
               },
               [&](const run_step& e) { execute(me, e); },
               [&](const token_emitted& e) { tell_far(me.name, request_, e); },
               [&](const prefill_computed& e) { to_owner(me, e.sequence, e); },
               [&](const sequence_finished& e) { to_owner(me, e.sequence, e); },
               [&](const sequence_quiesced& e) { to_owner(me, e.sequence, e); },
               [](const end_sequence&) {},
               [](const digest_kv&) {},
               [](const poison_rank&) {},
             },
             effect);
}

} // namespace baton::tests
