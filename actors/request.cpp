// The actor of one request, on the router's node. See protocol/request.hpp.
#include "actors/device_messages.hpp"
#include "actors/interfaces.hpp"
#include "actors/labels.hpp"
#include "actors/machine_actor.hpp"
#include "protocol/membership.hpp"
#include "protocol/request.hpp"

namespace baton::actors {

namespace {

using namespace protocol;

class request_actor
  : public machine_actor<request_actor, request::state, request::event, request::effect> {
public:
  static constexpr const char* machine = "request";

  request_actor(caf::actor_config& config, node_context& node, const request_id& id, handle router,
                handle client, std::shared_ptr<const token_list> prompt,
                std::unique_ptr<gpu::text_stream> text)
    : machine_actor(config, node, request_label(id)), id_(id), router_(std::move(router)),
      client_(std::move(client)), prompt_(std::move(prompt)), text_(std::move(text)) {
    ++node.counts.requests;
  }

  caf::behavior make_behavior() override { return machine_behavior(); }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    router_ = client_ = attempt_ = {};
  }

  subject about_what() const { return {id_, ordinal_}; }

  template <class T>
  void arrived(const handle&, const T&) {}
  void arrived(const handle&, const open_request& e) {
    external_ = e.spec.external;
    cancel_at_ = e.spec.fault.cancel_at;
  }
  /// Clients watch phases; a script may have asked for a cancel at one.
  void arrived(const handle&, const phase_entered& e) {
    send_to(client_, e);
    if (!cancel_at_.empty() && cancel_at_ == to_string(e.phase))
      send_to(self_handle(),
              cancel_request{external_, {reason::cancelled, "cancelled at " + cancel_at_}});
  }

  void run(const start_attempt& e) {
    ordinal_ = e.attempt.ordinal;
    attempt_ = spawn_attempt(home_system(), node(), e.attempt, self_handle(), router_, prompt_);
    send_to(attempt_, e);
    send_to(router_, attempt_started{e.attempt}, attempt_);
  }
  void run(const cancel_attempt& e) { send_to(attempt_, e); }
  void run(const commit_claimed& e) { send_to(sender(), e); }
  void run(const frame_forwarded& e) {
    send_to(client_, e);
    if (text_)
      send_to(client_, frame_text{e.external, e.index, text_->push(e.token.value)});
  }
  void run(const request_ended& e) {
    if (text_)
      send_to(client_, frame_text{e.external, e.tokens, text_->flush()});
    send_to(client_, e);
  }
  void run(const arm_timer& e) { send_later(e.delay_ms, deadline_reached{}); }
  void run(const arm_frames& e) { send_later(e.delay_ms, frames_overdue{}); }
  void run(const end_actor&) {
    send_to(router_, request_gone{id_});
    --node().counts.requests;
    quit();
  }

private:
  request_id id_;
  std::uint32_t ordinal_ = 0;
  external_id external_;
  std::string cancel_at_;
  handle router_;
  handle client_;
  handle attempt_; ///< the current one
  std::shared_ptr<const token_list> prompt_;
  std::unique_ptr<gpu::text_stream> text_; ///< null: this cluster's model has no text
};

} // namespace

handle spawn_request(caf::actor_system& system, node_context& node, const request_id& request,
                     handle router, handle client, std::shared_ptr<const token_list> prompt,
                     std::unique_ptr<gpu::text_stream> text) {
  return caf::actor_cast<handle>(
    system.spawn<request_actor>(node, request, std::move(router), std::move(client),
                                std::move(prompt), std::move(text)));
}

} // namespace baton::actors
