// The actor of one grant on the decode side. See protocol/reservation.hpp.
#include "actors/interfaces.hpp"
#include "actors/machine_actor.hpp"
#include "protocol/reservation.hpp"

#include <map>

namespace baton::actors {

namespace {

using namespace protocol;

class reservation_actor : public machine_actor<reservation_actor, reservation::state,
                                               reservation::event, reservation::effect> {
public:
  static constexpr const char* machine = "reservation";

  reservation_actor(caf::actor_config& config, node_context& node, const open_reservation& opened,
                    handle pool, handle attempt, handle request)
    : machine_actor(config, node,
                    "reservation/" + std::to_string(opened.granted.reservation.number)),
      about_(about(opened.granted.attempt)),
      mixed_(opened.granted.in_place && !opened.granted.mapped), pool_(std::move(pool)),
      group_(node.leader_of(node.group->name).handles.group),
      attempt_(std::move(attempt)), request_(std::move(request)) {
    ++node.counts.reservations;
  }

  caf::behavior make_behavior() override { return machine_behavior(); }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    pool_ = group_ = attempt_ = request_ = hold_ = {};
    offerers_.clear();
  }

  subject about_what() const { return about_; }

  template <class T>
  void arrived(const handle&, const T&) {}
  /// The pool passes an offer on, with its hold beside it.
  void arrived(const handle& hold, const manifest_offered& e) { offerers_[e.hold] = hold; }

  void run(const reserve_granted& e) { send_to(attempt_, e); }
  void run(const transfer_opened& e) {
    hold_ = offerers_[e.hold];
    send_to(hold_, e);
  }
  void run(const transfer_refused& e) { send_to(offerers_[e.hold], e); }
  void run(const transfer_completed& e) { send_to(attempt_, e); }
  void run(const committed& e) { send_to(attempt_, e); }
  void run(const commit_refused& e) { send_to(attempt_, e); }
  void run(const reservation_revoked& e) {
    if (e.why.why == reason::lease_expired)
      ++node().counts.leases_expired;
    send_to(attempt_, e);
  }
  void run(const decode_finished& e) { send_to(attempt_, e); }
  void run(const reservation_reclaimed& e) { send_to(attempt_, e); }
  void run(const reservation_quarantined& e) { send_to(attempt_, e); }

  void run(const open_lane& e) { send_to(transfer_of(e.lane), e); }
  void run(const ask_lane& e) { send_to(transfer_of(e.lane), e); }
  void run(const stop_lane& e) { send_to(mixed_ ? hold_ : transfer_of(e.lane), e); }
  void run(const forget_attempt& e) {
    for (std::uint16_t r = 0; r < node().group->ranks; ++r)
      send_to(node().rank_of(node().group->name, {r}).handles.compute, e);
  }

  void run(const mark_live& e) { send_to(pool_, e); }
  void run(const quarantine_blocks& e) { send_to(pool_, e); }
  void run(const reclaim_blocks& e) { send_to(pool_, e); }
  void run(const activate_sequence& e) { send_to(group_, e, request_); }
  void run(const cancel_sequence& e) { send_to(group_, e); }

  void run(const arm_lease& e) { send_later(e.delay_ms, lease_expired{}); }
  void run(const arm_hold& e) { send_later(e.delay_ms, hold_ended{}); }
  void run(const arm_evidence& e) { send_later(e.delay_ms, evidence_due{}); }
  void run(const end_actor&) {
    --node().counts.reservations;
    quit();
  }

private:
  handle transfer_of(const lane_id& lane) const {
    return node().rank_of(node().group->name, lane.destination).handles.transfer;
  }

  subject about_;
  bool mixed_; ///< the lane's mover is the hold
  handle pool_;
  handle group_;
  handle attempt_;
  handle request_;
  handle hold_; ///< whose offer was taken
  std::map<reservation_id, handle> offerers_;
};

} // namespace

handle spawn_reservation(caf::actor_system& system, node_context& node,
                         const open_reservation& opened, handle pool, handle attempt,
                         handle request) {
  return caf::actor_cast<handle>(system.spawn<reservation_actor>(
    node, opened, std::move(pool), std::move(attempt), std::move(request)));
}

} // namespace baton::actors
