#include "tests/sim/routes.hpp"

#include "protocol/step.hpp"
#include "tests/sim/samples.hpp"

namespace baton::sim {

using namespace protocol;

namespace {

template <kind K, class Event>
void to(const route_context& c, const address& whom, Event&& e, op how = op::send) {
  c.out.push_back({how, K, whom.packed(), c.known.put_event<K>(std::forward<Event>(e)), 0});
}
template <kind K, class Event>
void to_contact(const route_context& c, contact whom, Event&& e) {
  c.out.push_back({op::send_to_contact, K, static_cast<std::uint32_t>(whom),
                   c.known.put_event<K>(std::forward<Event>(e)), 0});
}
void device(const route_context& c, op what, std::uint32_t number = 0) {
  c.out.push_back({what, c.self.what, 0, number, 0});
}
template <kind K, class Event>
void wake(const route_context& c, std::int64_t ms, Event&& e) {
  c.out.push_back({op::arm, K, 0, c.known.put_event<K>(std::forward<Event>(e)), ms});
}

address own_pool(const route_context& c) { return {kind::pool, c.self.home, 0, 0, 0, {}}; }

} // namespace

void route(const route_context& c, const request::effect& effect) {
  std::visit(overloaded{
               [&](const start_attempt& e) {
                 to<kind::attempt>(c, attempt_address(e.attempt), e, op::open);
               },
               [&](const cancel_attempt& e) {
                 to<kind::attempt>(c, attempt_address(e.attempt), e);
               },
               [&](const commit_claimed& e) {
                 to<kind::attempt>(c, attempt_address(e.attempt), e);
               },
               [&](const frame_forwarded& e) {
                 c.out.push_back({op::frame, kind::request, attempt_address(e.attempt).packed(),
                                  e.index, 0});
               },
               [&](const request_ended& e) {
                 device(c, op::outcome, static_cast<std::uint32_t>(e.kind));
               },
               [&](const arm_timer& e) { wake<kind::request>(c, e.delay_ms, deadline_reached{}); },
               [&](const arm_frames& e) { wake<kind::request>(c, e.delay_ms, frames_overdue{}); },
               [&](const end_actor&) { device(c, op::end); },
             },
             effect);
}

void route(const route_context& c, const attempt::effect& effect) {
  const address request{kind::request, {}, static_cast<std::uint16_t>(c.self.number / 8), 0, 0, {}};
  const auto decode_pool = [&](const auto& e) {
    to_contact<kind::pool>(c, contact::decode_pool, e);
  };
  const auto source_pool = [&](const auto& e) {
    to_contact<kind::pool>(c, contact::prefill_pool, e);
  };
  std::visit(overloaded{
               [&](const place_attempt&) { device(c, op::place); },
               [&](reserve_request e) {
                 e.prompt.ids.assign(e.spec.prompt_tokens, 1);
                 decode_pool(e);
               },
               [&](start_prefill e) {
                 e.prompt.ids.assign(e.spec.prompt_tokens, 1);
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
               [&](const arm_answer& e) { wake<kind::attempt>(c, e.delay_ms, answer_overdue{}); },
               [&](const end_actor&) { device(c, op::end); },
               [&](const auto& e) { to<kind::request>(c, request, e); },
             },
             effect);
}

void route(const route_context& c, const pool::effect& effect) {
  const auto& shape = c.known.shape();
  const auto reservation = [&](const auto& e) {
    to<kind::reservation>(c, reservation_address(e.reservation), e);
  };
  const auto hold = [&](const auto& e) { to<kind::hold>(c, hold_address(e.hold), e); };
  std::visit(overloaded{
               [&](const open_reservation& e) {
                 to<kind::reservation>(c, reservation_address(e.granted.reservation),
                                       begin_reservation{e, small_model(), shape.lease_ms},
                                       op::open);
               },
               [&](const open_hold& e) {
                 to<kind::hold>(c, hold_address(e.hold),
                                begin_hold{e, small_model(), shape.prefill_ranks,
                                           small_block_tokens, shape.retention_ms},
                                op::open);
               },
               [&](const manifest_offered& e) { reservation(e); },
               [&](const commit& e) { reservation(e); },
               [&](const revoke_reservation& e) { reservation(e); },
               [&](const query_reservation& e) { reservation(e); },
               [&](const cancel_source& e) { hold(e); },
               [&](const query_source& e) { hold(e); },
               [&](const transfer_refused& e) { hold(e); },
               [&](const blocks_reclaimed& e) {
                 if (shape.decodes(c.self.home.group))
                   reservation(e);
                 else
                   to<kind::hold>(c, hold_address(e.reservation), e);
               },
               [&](const arm_timer& e) { wake<kind::pool>(c, e.delay_ms, wait_expired{}); },
               [&](const auto& e) { to<kind::attempt>(c, attempt_address(e.attempt), e); },
             },
             effect);
}

void route(const route_context& c, const reservation::effect& effect) {
  const auto pool = [&](const auto& e) { to<kind::pool>(c, own_pool(c), e); };
  const auto lane = [&](const auto& e) { to<kind::lane>(c, lane_address(e.lane), e); };
  std::visit(overloaded{
               [&](const reserve_granted& e) {
                 to<kind::attempt>(c, attempt_address(e.granted.attempt), e);
               },
               [&](const open_lane& e) { lane(e); },
               [&](const ask_lane& e) { lane(e); },
               [&](const stop_lane& e) { lane(e); },
               [&](const transfer_opened& e) { to<kind::hold>(c, hold_address(e.hold), e); },
               [&](const transfer_refused& e) { to<kind::hold>(c, hold_address(e.hold), e); },
               [&](const mark_live& e) { pool(e); },
               [&](const quarantine_blocks& e) { pool(e); },
               [&](const reclaim_blocks& e) { pool(e); },
               [&](const activate_sequence& e) {
                 device(c, op::decode,
                        c.known.put_work(
                          {e.sequence.value, e.attempt, e.blocks, e.output_tokens}));
               },
               [&](const cancel_sequence& e) {
                 device(c, op::cancel_sequence, static_cast<std::uint32_t>(e.sequence.value));
               },
               [&](const arm_lease& e) {
                 wake<kind::reservation>(c, e.delay_ms, lease_expired{});
               },
               [&](const arm_hold& e) { wake<kind::reservation>(c, e.delay_ms, hold_ended{}); },
               [&](const arm_evidence& e) {
                 wake<kind::reservation>(c, e.delay_ms, evidence_due{});
               },
               [](const forget_attempt&) {},
               [&](const end_actor&) { device(c, op::end); },
               [&](const auto& e) { to<kind::attempt>(c, attempt_address(e.attempt), e); },
             },
             effect);
}

void route(const route_context& c, const source_hold::effect& effect) {
  const auto pool = [&](const auto& e) { to<kind::pool>(c, own_pool(c), e); };
  const auto feed = [&](const auto& e) { to<kind::feed>(c, feed_address(e.lane, c.self.home), e); };
  std::visit(overloaded{
               [&](const manifest_offered& e) {
                 address pool_of = reservation_address(e.reservation);
                 pool_of.what = kind::pool;
                 pool_of.number = 0;
                 to<kind::pool>(c, pool_of, e);
               },
               [&](const lane_landed& e) {
                 to<kind::reservation>(c, reservation_address(e.lane.reservation), e);
               },
               [&](const lane_stopped& e) {
                 to<kind::reservation>(c, reservation_address(e.lane.reservation), e);
               },
               [&](const submit_prefill& e) {
                 device(c, op::prefill,
                        c.known.put_work({e.sequence.value, e.attempt, e.blocks, 0}));
               },
               [&](const cancel_sequence& e) {
                 device(c, op::cancel_sequence, static_cast<std::uint32_t>(e.sequence.value));
               },
               [&](const end_sequence& e) {
                 if (c.known.shape().mapped) // elsewhere a rank's memory of it means nothing
                   device(c, op::end_sequence, static_cast<std::uint32_t>(e.sequence.value));
               },
               [&](const open_feed& e) { feed(e); },
               [&](const ask_feed& e) { feed(e); },
               [&](const withdraw_feed& e) { feed(e); },
               [&](const quarantine_blocks& e) { pool(e); },
               [&](const reclaim_blocks& e) { pool(e); },
               [&](const arm_timer& e) { wake<kind::hold>(c, e.delay_ms, retention_expired{}); },
               [&](const arm_evidence& e) { wake<kind::hold>(c, e.delay_ms, evidence_due{}); },
               [&](const end_actor&) { device(c, op::end); },
               [&](const auto& e) { to<kind::attempt>(c, attempt_address(e.attempt), e); },
             },
             effect);
}

void route(const route_context& c, const lane::effect& effect) {
  std::visit(overloaded{
               [&](const admit_lane&) { device(c, op::admit); },
               [&](const revoke_lane&) { device(c, op::revoke); },
               [&](const send_receipt&) { device(c, op::receipt); },
               [&](const end_actor&) { device(c, op::end); },
               [&](const auto& e) {
                 to<kind::reservation>(c, reservation_address(e.lane.reservation), e);
               },
             },
             effect);
}

void route(const route_context& c, const feed::effect& effect) {
  std::visit(overloaded{
               [&](const offer_piece& e) { device(c, op::offer, e.piece); },
               [&](const offer_resume&) { device(c, op::offer, resume_piece); },
               [](const withdraw_offers&) {}, // those that are posted stay posted
               [&](const query_lane&) { device(c, op::query); },
               [&](const arm_timer& e) { wake<kind::feed>(c, e.delay_ms, query_due{}); },
               [&](const arm_stall& e) { wake<kind::feed>(c, e.delay_ms, stall_ended{}); },
               [&](const end_actor&) { device(c, op::end); },
               [&](const auto& e) { to_contact<kind::hold>(c, contact::hold, e); },
             },
             effect);
}

} // namespace baton::sim
