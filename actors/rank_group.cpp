// The actor of a tensor-parallel group, on its leader's node. See protocol/rank_group.hpp.
#include "actors/device_messages.hpp"
#include "actors/interfaces.hpp"
#include "actors/machine_actor.hpp"
#include "protocol/rank_group.hpp"

#include <map>

namespace baton::actors {

namespace {

using namespace protocol;

class rank_group_actor : public machine_actor<rank_group_actor, rank_group::state,
                                              rank_group::event, rank_group::effect> {
public:
  static constexpr const char* machine = "rank_group";

  rank_group_actor(caf::actor_config& config, node_context& node)
    : machine_actor(config, node, "rank_group/" + node.group->name.value) {}

  caf::behavior make_behavior() override {
    auto* self = this;
    return machine_behavior(
      [self](const message_header&, const handle&, end_node&) { self->quit(); });
  }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    owners_.clear();
    requests_.clear();
  }

  subject about_what() const { return about_; }

  template <class T>
  void arrived(const handle&, const T&) {
    about_ = {};
  }
  void arrived(const handle&, const submit_prefill& e) {
    about_ = about(e.attempt);
    owners_[e.sequence] = sender();
  }
  void arrived(const handle& request, const activate_sequence& e) {
    about_ = about(e.attempt);
    owners_[e.sequence] = sender();
    requests_[e.attempt] = request;
    attempts_[e.sequence] = e.attempt;
  }

  void run(const begin_sequence& e) { to_all_ranks(e); }
  void run(const end_sequence& e) { to_all_ranks(e); }
  void run(const run_step& e) { to_all_ranks(e); }
  void run(const digest_kv& e) { to_all_ranks(e); }
  void run(const poison_rank& e) { to_all_ranks(e); }

  void run(const prefill_computed& e) { to_owner(e.sequence, e); }
  void run(const sequence_finished& e) { to_owner(e.sequence, e); }
  void run(const sequence_quiesced& e) {
    to_owner(e.sequence, e);
    forget(e.sequence); // the last word about it
  }
  void run(const token_emitted& e) {
    const auto it = requests_.find(e.attempt);
    if (it != requests_.end())
      send_to(it->second, e);
  }

private:
  template <class Message>
  void to_all_ranks(const Message& message) {
    for (std::uint16_t r = 0; r < node().group->ranks; ++r)
      send_to(node().rank_of(node().group->name, {r}).handles.compute, message);
  }

  template <class Message>
  void to_owner(const sequence_id& sequence, const Message& message) {
    const auto it = owners_.find(sequence);
    if (it != owners_.end())
      send_to(it->second, message);
  }

  void forget(const sequence_id& sequence) {
    owners_.erase(sequence);
    const auto it = attempts_.find(sequence);
    if (it == attempts_.end())
      return;
    requests_.erase(it->second);
    attempts_.erase(it);
  }

  subject about_;
  std::map<sequence_id, handle> owners_;   ///< source holds and reservations
  std::map<attempt_id, handle> requests_;  ///< where an attempt's tokens go
  std::map<sequence_id, attempt_id> attempts_;
};

} // namespace

handle spawn_rank_group(caf::actor_system& system, node_context& node) {
  return caf::actor_cast<handle>(system.spawn<rank_group_actor>(node));
}

} // namespace baton::actors
