// The router: the one owner of tokenisation, of admission by tenant, of placement and of attempt
// ids. See protocol/membership.hpp for what it decides.
#include "actors/device_messages.hpp"
#include "actors/interfaces.hpp"
#include "actors/machine_actor.hpp"
#include "actors/prompts.hpp"
#include "protocol/membership.hpp"
#include "protocol/scripted_request.hpp"

#include <map>
#include <random>

namespace baton::actors {

namespace {

using namespace protocol;

std::uint64_t random_seed() {
  std::random_device draw;
  return (std::uint64_t{draw()} << 32) | draw();
}

class router_actor : public machine_actor<router_actor, membership::state, membership::event,
                                          membership::effect> {
public:
  static constexpr const char* machine = "membership";

  router_actor(caf::actor_config& config, node_context& node, prompt_reader reader,
               std::function<void()> on_formed)
    : machine_actor(config, node, "router"), reader_(std::move(reader)),
      on_formed_(std::move(on_formed)),
      draw_(node.request_seed != 0 ? node.request_seed : random_seed()) {}

  caf::behavior make_behavior() override {
    auto* self = this;
    set_down_handler([self](const caf::down_msg& down) { self->client_lost(down.source); });
    return machine_behavior(handler<submit_request>(self), handler<cancel_request>(self),
                            handler<attempt_started>(self), handler<end_node>(self));
  }

  using machine_actor::on_message;

  void on_message(const message_header& header, const handle&, submit_request& e) {
    record_plain(header, e, {});
    const handle client = sender();
    if (failure why = objection(e)) {
      refuse(client, e.spec.external, why);
      return;
    }
    auto prompt = read_prompt(reader_, e);
    if (!prompt) {
      refuse(client, e.spec.external, prompt.error());
      return;
    }
    arriving_ = {client, std::make_shared<token_list>(std::move(prompt.value())), e.spec};
    arriving_.spec.prompt_tokens = static_cast<std::uint32_t>(arriving_.prompt->ids.size());
    arriving_.spec.prompt_digest = prompt_digest(*arriving_.prompt);
    if (arriving_.spec.deadline_ms == 0)
      arriving_.spec.deadline_ms = limits::request_deadline_ms_default;
    request_arrived arrived{{draw_(), draw_()}, arriving_.spec};
    on_message(header, {}, arrived);
  }

  void on_message(const message_header& header, const handle&, cancel_request& e) {
    record_plain(header, e, {});
    const auto it = by_name_.find(e.external);
    if (it != by_name_.end())
      send_to(open_.at(it->second).request, e);
  }

  void on_message(const message_header&, const handle& attempt, attempt_started& e) {
    attempts_[e.attempt] = attempt;
  }

  /// A node that our guard has not met yet cannot be sent to, whatever it knows of us: not heard.
  /// It says so again.
  void on_message(const message_header& header, const handle& with, node_joined& e) {
    if (node().peers.find(e.node).life == e.life)
      machine_actor::on_message(header, with, e);
  }

  void on_message(const message_header&, const handle&, end_node&) { quit(); }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    arriving_ = {};
    asker_ = {};
    open_.clear();
    attempts_.clear();
    clients_.clear();
  }

  subject about_what() const { return about_; }

  template <class T>
  void arrived(const handle&, const T&) {
    about_ = {};
  }
  void arrived(const handle&, const place_attempt& e) {
    about_ = about(e.attempt);
    asker_ = sender();
  }
  void arrived(const handle&, const attempt_drained& e) {
    about_ = about(e.attempt);
    attempts_.erase(e.attempt);
  }
  void arrived(const handle&, const node_joined&) { send_to(sender(), join_heard{}); }
  void arrived(const handle&, const request_arrived& e) { about_ = {e.request, 0}; }
  void arrived(const handle&, const request_gone& e) {
    about_ = {e.request, 0};
    forget(e.request);
  }

  void run(const request_admitted& e) {
    const auto& a = arriving_;
    std::unique_ptr<gpu::text_stream> text;
    if (reader_.tokenizer) {
      text = std::make_unique<gpu::text_stream>(reader_.tokenizer->stream());
      for (const auto id : a.prompt->ids)
        text->push(id); // the answer continues the prompt
    }
    const handle request = spawn_request(home_system(), node(), e.request, self_handle(), a.client,
                                         a.prompt, std::move(text));
    open_[e.request] = {request, a.client, e.external};
    by_name_[e.external] = e.request;
    watch(a.client);
    send_to(a.client, request_accepted{e.external, e.request});
    send_to(request, open_request{e.request, a.spec, {1}});
  }
  void run(const request_refused& e) { refuse(arriving_.client, e.external, e.why); }
  void run(const attempt_placed& e) { send_to(asker_, e); }
  void run(const place_refused& e) { send_to(asker_, e); }
  void run(const group_lost& e) {
    for (const auto& [id, attempt] : attempts_)
      send_to(attempt, e);
  }
  void run(const cluster_formed&) { on_formed_(); }

private:
  struct arrival {
    handle client;
    std::shared_ptr<const token_list> prompt;
    request_spec spec;
  };
  struct opened {
    handle request;
    handle client;
    external_id external;
  };

  failure objection(const submit_request& e) const {
    if (by_name_.count(e.spec.external) > 0)
      return {reason::duplicate, "a request named '" + e.spec.external.value + "' is still open"};
    if (has_fault(e.spec) && !node().cluster.allow_faults)
      return {reason::not_permitted, "faults need \"allow_faults\": true in the cluster file"};
    return {};
  }

  void refuse(const handle& client, const external_id& external, const failure& why) {
    const bool malformed = why.why == reason::bad_input || why.why == reason::out_of_range;
    request_ended ended;
    ended.external = external;
    ended.kind = malformed ? outcome_kind::failed : outcome_kind::refused;
    ended.why = why;
    send_to(client, ended);
  }

  void watch(const handle& client) {
    if (clients_.insert(client->address()).second)
      monitor(caf::actor_cast<caf::actor>(client));
  }

  /// A client's death is a cancel of everything it had open.
  void client_lost(const caf::actor_addr& client) {
    clients_.erase(client);
    for (const auto& [id, o] : open_)
      if (o.client->address() == client)
        send_to(o.request, cancel_request{o.external, {reason::cancelled, "the client is gone"}});
  }

  void forget(const request_id& id) {
    const auto it = open_.find(id);
    if (it == open_.end())
      return;
    const auto named = by_name_.find(it->second.external);
    if (named != by_name_.end() && named->second == id)
      by_name_.erase(named);
    open_.erase(it);
  }

  prompt_reader reader_;
  std::function<void()> on_formed_;
  std::mt19937_64 draw_;
  subject about_;
  arrival arriving_; ///< between request_arrived and its verdict, in one handler
  handle asker_;
  std::map<request_id, opened> open_;
  std::map<external_id, request_id> by_name_;
  std::map<attempt_id, handle> attempts_;
  std::set<caf::actor_addr> clients_;
};

} // namespace

handle spawn_router(caf::actor_system& system, node_context& node, prompt_reader reader,
                    std::function<void()> on_formed) {
  return caf::actor_cast<handle>(
    system.spawn<router_actor>(node, std::move(reader), std::move(on_formed)));
}

} // namespace baton::actors
