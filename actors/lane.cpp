// The actor of one lane's destination end. See protocol/lane.hpp.
#include "actors/device_messages.hpp"
#include "actors/interfaces.hpp"
#include "actors/labels.hpp"
#include "actors/machine_actor.hpp"
#include "protocol/lane.hpp"

namespace baton::actors {

namespace {

using namespace protocol;

class lane_actor
  : public machine_actor<lane_actor, lane::state, lane::event, lane::effect> {
public:
  static constexpr const char* machine = "lane";

  lane_actor(caf::actor_config& config, node_context& node, const open_lane& opened,
             handle reservation, handle transfer)
    : machine_actor(config, node, lane_label("lane", opened.lane)), about_(about(opened.attempt)),
      lane_(opened.lane), reservation_(std::move(reservation)), transfer_(std::move(transfer)) {
    ++node.counts.lanes;
  }

  caf::behavior make_behavior() override { return machine_behavior(); }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    reservation_ = {};
    transfer_ = {};
  }

  subject about_what() const { return about_; }

  void run(const admit_lane& e) { send_to(transfer_, e); }
  void run(const revoke_lane& e) { send_to(transfer_, e); }
  void run(const send_receipt& e) { send_to(transfer_, e); }
  void run(const lane_opened& e) { send_to(reservation_, e); }
  void run(const lane_landed& e) { send_to(reservation_, e); }
  void run(const lane_failed& e) { send_to(reservation_, e); }
  void run(const lane_stopped& e) { send_to(reservation_, e); }
  void run(const end_actor&) {
    send_to(transfer_, lane_ended{lane_});
    --node().counts.lanes;
    quit();
  }

private:
  subject about_;
  lane_id lane_;
  handle reservation_;
  handle transfer_;
};

} // namespace

handle spawn_lane(caf::actor_system& system, node_context& node, const open_lane& opened,
                  handle reservation, handle transfer) {
  return caf::actor_cast<handle>(
    system.spawn<lane_actor>(node, opened, std::move(reservation), std::move(transfer)));
}

} // namespace baton::actors
