// The actor of one attempt on the prefill side. See protocol/source_hold.hpp.
#include "actors/interfaces.hpp"
#include "actors/machine_actor.hpp"
#include "protocol/source_hold.hpp"

namespace baton::actors {

namespace {

using namespace protocol;

class source_hold_actor : public machine_actor<source_hold_actor, source_hold::state,
                                               source_hold::event, source_hold::effect> {
public:
  static constexpr const char* machine = "source_hold";

  source_hold_actor(caf::actor_config& config, node_context& node, const open_hold& opened,
                    handle pool, handle attempt, handle reservation)
    : machine_actor(config, node, "source_hold/" + std::to_string(opened.hold.number)),
      about_(about(opened.asked.attempt)), pool_(std::move(pool)),
      group_(node.leader_of(node.group->name).handles.group), attempt_(std::move(attempt)),
      reservation_(std::move(reservation)),
      decode_pool_(node.leader_of(opened.asked.granted.group).handles.pool) {
    ++node.counts.source_holds;
  }

  caf::behavior make_behavior() override { return machine_behavior(); }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    pool_ = group_ = attempt_ = reservation_ = decode_pool_ = {};
  }

  subject about_what() const { return about_; }

  void run(const prefill_accepted& e) { send_to(attempt_, e); }
  void run(const prefill_finished& e) { send_to(attempt_, e); }
  void run(const source_failed& e) { send_to(attempt_, e); }
  void run(const source_released& e) { send_to(attempt_, e); }

  /// The reservation's pool passes it on, and answers when that is gone.
  void run(const manifest_offered& e) { send_to(decode_pool_, e, self_handle()); }
  void run(const lane_landed& e) { send_to(reservation_, e); }
  void run(const lane_stopped& e) { send_to(reservation_, e); }

  void run(const submit_prefill& e) { send_to(group_, e); }
  void run(const cancel_sequence& e) { send_to(group_, e); }
  void run(const end_sequence& e) {
    for (std::uint16_t r = 0; r < node().group->ranks; ++r)
      send_to(node().rank_of(node().group->name, {r}).handles.compute, e);
  }

  void run(const open_feed& e) { send_to(transfer_of(e.lane), e); }
  void run(const ask_feed& e) { send_to(transfer_of(e.lane), e); }
  void run(const withdraw_feed& e) { send_to(transfer_of(e.lane), e); }

  void run(const quarantine_blocks& e) { send_to(pool_, e); }
  void run(const reclaim_blocks& e) { send_to(pool_, e); }
  void run(const arm_timer& e) { send_later(e.delay_ms, retention_expired{}); }
  void run(const arm_evidence& e) { send_later(e.delay_ms, evidence_due{}); }
  void run(const end_actor&) {
    --node().counts.source_holds;
    quit();
  }

private:
  handle transfer_of(const lane_id& lane) const {
    return node().rank_of(node().group->name, lane.source).handles.transfer;
  }

  subject about_;
  handle pool_;
  handle group_;
  handle attempt_;
  handle reservation_; ///< in place only: of this node
  handle decode_pool_;
};

} // namespace

handle spawn_source_hold(caf::actor_system& system, node_context& node, const open_hold& opened,
                         handle pool, handle attempt, handle reservation) {
  return caf::actor_cast<handle>(system.spawn<source_hold_actor>(
    node, opened, std::move(pool), std::move(attempt), std::move(reservation)));
}

} // namespace baton::actors
