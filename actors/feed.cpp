// The actor of one lane's source end. See protocol/feed.hpp.
#include "actors/device_messages.hpp"
#include "actors/interfaces.hpp"
#include "actors/labels.hpp"
#include "actors/machine_actor.hpp"
#include "protocol/feed.hpp"

namespace baton::actors {

namespace {

using namespace protocol;

class feed_actor : public machine_actor<feed_actor, feed::state, feed::event, feed::effect> {
public:
  static constexpr const char* machine = "feed";

  feed_actor(caf::actor_config& config, node_context& node, const open_feed& opened, handle hold,
             handle transfer, handle compute)
    : machine_actor(config, node, lane_label("feed", opened.lane)), about_(about(opened.attempt)),
      lane_(opened.lane), duplicate_offers_(opened.fault.duplicate_offers), hold_(std::move(hold)),
      transfer_(std::move(transfer)), compute_(std::move(compute)) {
    ++node.counts.feeds;
  }

  caf::behavior make_behavior() override { return machine_behavior(); }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    hold_ = {};
    transfer_ = {};
    compute_ = {};
  }

  subject about_what() const { return about_; }

  template <class T>
  void arrived(const handle&, const T&) {}
  /// The machine only knows that the resume state is there; its bytes wait here to be offered.
  void arrived(const handle&, const source_ready& e) {
    if (!e.resume.values.empty())
      resume_ = e.resume;
  }
  void arrived(const handle&, const open_feed& e) {
    if (!watches_)
      send_to(compute_, watch_sequence{e.sequence}, self_handle());
    watches_ = true;
  }

  void run(const offer_piece& e) {
    send_to(transfer_, e);
    if (duplicate_offers_)
      send_to(transfer_, e);
  }
  void run(const offer_resume& e) { send_to(transfer_, resume_offer{e.lane, resume_}); }
  void run(const withdraw_offers& e) { send_to(transfer_, e); }
  void run(const query_lane& e) { send_to(transfer_, e); }
  void run(const feed_opened& e) { send_to(hold_, e); }
  void run(const feed_received& e) {
    received_ = true;
    send_to(hold_, e);
  }
  void run(const feed_stopped& e) { send_to(hold_, e); }
  void run(const feed_rejected& e) { send_to(hold_, e); }
  void run(const arm_timer& e) { send_later(e.delay_ms, query_due{}); }
  void run(const arm_stall& e) { send_later(e.delay_ms, stall_ended{}); }
  void run(const end_actor&) {
    send_to(transfer_, feed_ended{lane_, received_});
    --node().counts.feeds;
    quit();
  }

private:
  subject about_;
  lane_id lane_;
  bool duplicate_offers_;
  bool watches_ = false;
  bool received_ = false; ///< how it ends
  packed_floats resume_;
  handle hold_;
  handle transfer_;
  handle compute_;
};

} // namespace

handle spawn_feed(caf::actor_system& system, node_context& node, const open_feed& opened,
                  handle hold, handle transfer, handle compute) {
  return caf::actor_cast<handle>(system.spawn<feed_actor>(
    node, opened, std::move(hold), std::move(transfer), std::move(compute)));
}

} // namespace baton::actors
