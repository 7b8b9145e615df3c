// The actor of one try at a request, on the router's node. See protocol/attempt.hpp.
#include "actors/interfaces.hpp"
#include "actors/labels.hpp"
#include "actors/machine_actor.hpp"
#include "protocol/attempt.hpp"

namespace baton::actors {

namespace {

using namespace protocol;

class attempt_actor
  : public machine_actor<attempt_actor, attempt::state, attempt::event, attempt::effect> {
public:
  static constexpr const char* machine = "attempt";

  attempt_actor(caf::actor_config& config, node_context& node, const attempt_id& id,
                handle request, handle router, std::shared_ptr<const token_list> prompt)
    : machine_actor(config, node, attempt_label(id)), about_(about(id)),
      request_(std::move(request)), router_(std::move(router)), prompt_(std::move(prompt)) {
    ++node.counts.attempts;
  }

  caf::behavior make_behavior() override { return machine_behavior(); }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    request_ = router_ = decode_pool_ = prefill_pool_ = {};
  }

  subject about_what() const { return about_; }

  template <class T>
  void arrived(const handle&, const T&) {}
  void arrived(const handle&, const attempt_placed& e) {
    decode_pool_ = node().leader_of(e.decode_group).handles.pool;
    prefill_pool_ = node().leader_of(e.source.group).handles.pool;
  }

  void run(const place_attempt& e) { send_to(router_, e); }
  void run(reserve_request& e) {
    e.prompt = *prompt_;
    send_to(decode_pool_, std::move(e), request_);
  }
  void run(start_prefill& e) {
    e.prompt = *prompt_;
    send_to(prefill_pool_, std::move(e));
  }
  void run(const withdraw_attempt& e) {
    send_to(e.side == hand_off_side::destination ? decode_pool_ : prefill_pool_, e);
  }
  // A pool passes these on to the holder, and answers when that is gone.
  void run(const commit& e) { send_to(decode_pool_, e); }
  void run(const revoke_reservation& e) { send_to(decode_pool_, e); }
  void run(const query_reservation& e) { send_to(decode_pool_, e); }
  void run(const cancel_source& e) { send_to(prefill_pool_, e); }
  void run(const query_source& e) { send_to(prefill_pool_, e); }
  void run(const arm_answer& e) { send_later(e.delay_ms, answer_overdue{}); }

  void run(const claim_commit& e) { send_to(request_, e); }
  void run(const commit_abandoned& e) { send_to(request_, e); }
  void run(const phase_entered& e) { send_to(request_, e); }
  void run(const attempt_failed& e) { send_to(request_, e); }
  void run(const attempt_drained& e) {
    send_to(request_, e);
    send_to(router_, e);
  }
  void run(const end_actor&) {
    --node().counts.attempts;
    quit();
  }

private:
  subject about_;
  handle request_;
  handle router_;
  std::shared_ptr<const token_list> prompt_;
  handle decode_pool_;
  handle prefill_pool_;
};

} // namespace

handle spawn_attempt(caf::actor_system& system, node_context& node, const attempt_id& attempt,
                     handle request, handle router, std::shared_ptr<const token_list> prompt) {
  return caf::actor_cast<handle>(system.spawn<attempt_actor>(
    node, attempt, std::move(request), std::move(router), std::move(prompt)));
}

} // namespace baton::actors
