// The actor of one group's KV blocks. See protocol/block_pool.hpp.
#include "actors/device_messages.hpp"
#include "actors/interfaces.hpp"
#include "actors/link_rate.hpp"
#include "actors/machine_actor.hpp"
#include "actors/status_messages.hpp"
#include "protocol/cost_model.hpp"
#include "protocol/reservation.hpp"
#include "protocol/source_hold.hpp"

#include <map>

namespace baton::actors {

namespace {

using namespace protocol;

class pool_actor : public machine_actor<pool_actor, pool::state, pool::event, pool::effect> {
public:
  static constexpr const char* machine = "pool";

  pool_actor(caf::actor_config& config, node_context& node)
    : machine_actor(config, node, "pool/" + node.group->name.value) {}

  caf::behavior make_behavior() override {
    auto* self = this;
    return machine_behavior(
      handler<link_measured>(self),
      [self](const message_header&, const handle& asker, ask_status&) { self->tell(asker); },
      [self](const message_header&, const handle&, end_node&) { self->quit(); });
  }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    holders_.clear();
    askers_.clear();
    with_ = {};
  }

  using machine_actor::on_message;

  void on_message(const message_header& header, const handle&, link_measured& e) {
    record_plain(header, e, {});
    link_.take(e.rank, e.bytes_per_s);
  }

  subject about_what() const { return about_; }

  template <class T>
  void arrived(const handle& with, const T& e) {
    with_ = with;
    about_ = subject_of(e);
  }
  void arrived(const handle& request, const reserve_request& e) {
    note(e.attempt, hand_off_side::destination, request);
  }
  void arrived(const handle&, const start_prefill& e) {
    note(e.attempt, hand_off_side::source, {});
  }

  void run(open_reservation& e) {
    const asker a = take(e.granted.attempt, hand_off_side::destination);
    const std::uint64_t number = e.granted.reservation.number;
    begin_reservation first;
    first.lease_ms = lease_of(e.asked.spec);
    first.model = node().model;
    const handle reservation
      = spawn_reservation(home_system(), node(), e, self_handle(), a.attempt, a.with);
    holders_[number] = reservation;
    first.opened = std::move(e);
    send_to(reservation, std::move(first));
  }

  void run(open_hold& e) {
    const asker a = take(e.asked.attempt, hand_off_side::source);
    const grant& granted = e.asked.granted;
    const std::uint64_t number = e.hold.number;
    begin_hold first;
    first.model = node().model;
    first.tp_degree = node().group->ranks;
    first.block_tokens = node().group->kv.block_tokens;
    first.retention_ms = node().cluster.retention_ms;
    const handle hold
      = spawn_source_hold(home_system(), node(), e, self_handle(), a.attempt,
                          granted.group == node().group->name ? holder(granted.reservation)
                                                              : handle{});
    holders_[number] = hold;
    first.opened = std::move(e);
    send_to(hold, std::move(first));
  }

  void run(const reserve_refused& e) {
    send_to(take(e.attempt, hand_off_side::destination).attempt, e);
  }
  void run(const prefill_refused& e) {
    send_to(take(e.attempt, hand_off_side::source).attempt, e);
  }

  // What another node says to a holder, passed on.
  void run(const manifest_offered& e) { send_to(holder(e.reservation), e, with_); }
  void run(const commit& e) { send_to(holder(e.reservation), e); }
  void run(const revoke_reservation& e) { send_to(holder(e.reservation), e); }
  void run(const query_reservation& e) {
    take(e.attempt, hand_off_side::destination);
    send_to(holder(e.reservation), e);
  }
  void run(const cancel_source& e) { send_to(holder(e.hold), e); }
  void run(const query_source& e) {
    take(e.attempt, hand_off_side::source);
    send_to(holder(e.hold), e);
  }

  // Answers for those who are gone.
  void run(const transfer_refused& e) { send_to(with_, e); }
  void run(const reservation_reclaimed& e) { send_to(sender(), e); }
  void run(const source_released& e) { send_to(sender(), e); }

  void run(const blocks_reclaimed& e) {
    const auto it = holders_.find(e.reservation.number);
    if (it == holders_.end()) {
      send_to(sender(), e);
      return;
    }
    send_to(it->second, e);
    holders_.erase(it);
  }
  void run(const arm_timer& e) { send_later(e.delay_ms, wait_expired{}); }

private:
  /// Who asked, kept until the answer: it may come much later, from the queue.
  struct asker {
    handle attempt;
    handle with; ///< the request of a reserve_request
  };

  /// What a word is about: the attempt that it names.
  template <class T>
  static subject subject_of(const T&) {
    return {};
  }
  static subject subject_of(const withdraw_attempt& e) { return about(e.attempt); }
  static subject subject_of(const manifest_offered& e) { return about(e.offered.attempt); }
  static subject subject_of(const commit& e) { return about(e.attempt); }
  static subject subject_of(const revoke_reservation& e) { return about(e.attempt); }
  static subject subject_of(const query_reservation& e) { return about(e.attempt); }
  static subject subject_of(const cancel_source& e) { return about(e.attempt); }
  static subject subject_of(const query_source& e) { return about(e.attempt); }

  void note(const attempt_id& attempt, hand_off_side side, const handle& with) {
    with_ = {};
    about_ = about(attempt);
    askers_[{attempt, side}] = {sender(), with};
  }

  /// Null when the actor has ended.
  handle holder(const reservation_id& id) const {
    const auto it = holders_.find(id.number);
    return it == holders_.end() ? handle{} : it->second;
  }

  /// A withdrawal of what was never asked is answered to whoever withdraws.
  asker take(const attempt_id& attempt, hand_off_side side) {
    const auto it = askers_.find({attempt, side});
    if (it == askers_.end())
      return {sender(), {}};
    asker a = std::move(it->second);
    askers_.erase(it);
    return a;
  }

  std::int64_t lease_of(const request_spec& spec) const {
    if (spec.fault.lease_ms > 0)
      return spec.fault.lease_ms;
    const auto& lease = node().cluster.lease;
    const auto prefill
      = static_cast<std::int64_t>(prefill_ms(state().config.rates, spec.prompt_tokens));
    const std::uint64_t measured = link_.bytes_per_s(node().group->ranks);
    // Its own bytes, and those of everybody who was granted before: they go the same way. In place
    // there are none.
    return lease_ms(state().ledger.inflight_bytes,
                    measured > 0 ? measured : lease.assumed_bytes_per_s, prefill,
                    {lease.ms_min, lease.ms_max});
  }

  void tell(const handle& asker) {
    const auto& s = state();
    send_to(asker, pool_status{node().name, s.config.group, s.config.blocks, s.ledger.free,
                               s.ledger.leased, s.ledger.live, s.ledger.quarantined,
                               s.ledger.slots_used, static_cast<std::uint32_t>(s.queue.size()),
                               s.config.block_bytes, link_.bytes_per_s(node().group->ranks),
                               node().counts.leases_expired});
  }

  link_rate link_;
  subject about_;
  handle with_; ///< beside the message at hand
  std::map<std::uint64_t, handle> holders_; ///< reservations and source holds, by number
  std::map<std::pair<attempt_id, hand_off_side>, asker> askers_;
};

} // namespace

handle spawn_pool(caf::actor_system& system, node_context& node) {
  return caf::actor_cast<handle>(system.spawn<pool_actor>(node));
}

} // namespace baton::actors
