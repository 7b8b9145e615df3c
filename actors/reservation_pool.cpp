// The actor of one group's KV blocks. See protocol/block_pool.hpp.
#include "actors/device_messages.hpp"
#include "actors/interfaces.hpp"
#include "actors/machine_actor.hpp"
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
      [self](const message_header&, const handle& asker, ask_status&) { self->tell(asker); },
      [self](const message_header&, const handle&, end_node&) { self->quit(); });
  }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    holder_ = {};
    askers_.clear();
  }

  subject about_what() const { return about_; }

  template <class T>
  void arrived(const handle&, const T&) {
    about_ = {};
    holder_ = sender();
  }
  void arrived(const handle& request, const reserve_request& e) { note(e.attempt, request); }
  void arrived(const handle& reservation, const start_prefill& e) { note(e.attempt, reservation); }
  void arrived(const handle&, const withdraw_attempt& e) { about_ = about(e.attempt); }

  void run(open_reservation& e) {
    const asker a = take(e.granted.attempt);
    begin_reservation first;
    first.lease_ms = lease_of(e.granted, e.asked.spec);
    first.model = node().model;
    const handle reservation
      = spawn_reservation(home_system(), node(), e, self_handle(), a.attempt, a.with);
    first.opened = std::move(e);
    send_to(reservation, std::move(first));
  }

  void run(open_hold& e) {
    const asker a = take(e.asked.attempt);
    begin_hold first;
    first.model = node().model;
    first.tp_degree = node().group->ranks;
    first.block_tokens = node().group->kv.block_tokens;
    first.retention_ms = node().cluster.retention_ms;
    const handle hold
      = spawn_source_hold(home_system(), node(), e, self_handle(), a.attempt, a.with);
    first.opened = std::move(e);
    send_to(hold, std::move(first));
  }

  void run(const reserve_refused& e) { send_to(take(e.attempt).attempt, e); }
  void run(const prefill_refused& e) { send_to(take(e.attempt).attempt, e); }
  void run(const blocks_reclaimed& e) { send_to(holder_, e); }
  void run(const arm_timer& e) { send_later(e.delay_ms, wait_expired{}); }

private:
  /// Who asked, kept until the answer: it may come much later, from the queue.
  struct asker {
    handle attempt;
    handle with; ///< the request of a reserve_request, the reservation of a start_prefill
  };

  void note(const attempt_id& attempt, const handle& with) {
    about_ = about(attempt);
    askers_[attempt] = {sender(), with};
  }

  asker take(const attempt_id& attempt) {
    const auto it = askers_.find(attempt);
    if (it == askers_.end())
      return {};
    asker a = std::move(it->second);
    askers_.erase(it);
    return a;
  }

  std::int64_t lease_of(const grant& granted, const request_spec& spec) const {
    if (spec.fault.lease_ms > 0)
      return spec.fault.lease_ms;
    const auto& lease = node().cluster.lease;
    const auto prefill
      = static_cast<std::int64_t>(prefill_ms(state().config.rates, spec.prompt_tokens));
    return lease_ms(granted.bytes, lease.assumed_bytes_per_s, prefill,
                    {lease.ms_min, lease.ms_max});
  }

  void tell(const handle& asker) {
    const auto& s = state();
    send_to(asker, pool_status{node().name, s.config.group, s.config.blocks, s.ledger.free,
                               s.ledger.leased, s.ledger.live, s.ledger.quarantined,
                               s.ledger.slots_used, static_cast<std::uint32_t>(s.queue.size()),
                               s.config.block_bytes});
  }

  subject about_;
  handle holder_; ///< who asked to reclaim
  std::map<attempt_id, asker> askers_;
};

} // namespace

handle spawn_pool(caf::actor_system& system, node_context& node) {
  return caf::actor_cast<handle>(system.spawn<pool_actor>(node));
}

} // namespace baton::actors
