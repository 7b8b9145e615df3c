#include "tests/actors/deterministic_wires.hpp"

namespace baton::tests {

using namespace actors;
using namespace protocol;

std::string word_of(const caf::type_erased_tuple& message) {
  if (message.size() != 3)
    return {};
  const std::string type = message.type(2).second->name(); // mangled, "...9open_laneE"
  const std::size_t begin = type.find_first_not_of("0123456789", type.find("protocol") + 8);
  return begin < type.size() ? type.substr(begin, type.size() - begin - 1) : type;
}

class wire : public caf::event_based_actor {
public:
  wire(caf::actor_config& config, wires& all, node_name from, node_name to, handle actor)
    : event_based_actor(config), all_(all), from_(std::move(from)), to_(std::move(to)),
      label_(from_.value + " to " + to_.value), actor_(std::move(actor)) {}

  const char* name() const override { return label_.c_str(); }

  caf::behavior make_behavior() override {
    set_default_handler([this](caf::scheduled_actor*, caf::message_view& view)
                          -> caf::result<caf::message> {
      pass(view.move_content_to_message());
      return caf::delegated<caf::message>{};
    });
    return {[](caf::ok_atom) {}}; // without a behaviour it would end
  }
  void on_exit() override { actor_ = {}; }

private:
  void pass(caf::message word) {
    if (!actor_ || all_.loses(from_, to_, word))
      return;
    if (word.size() == 3) { // header, handle, message
      auto& with = word.get_mutable_as<handle>(1);
      with = all_.between(to_, from_, with);
    }
    actor_->enqueue(all_.between(to_, from_, current_sender()), caf::make_message_id(),
                    std::move(word), context());
  }

  wires& all_;
  const node_name from_;
  const node_name to_;
  const std::string label_;
  handle actor_;
};

handle wires::between(const node_name& at, const node_name& of, const handle& actor) {
  if (!actor)
    return {};
  const auto known = far_ends_.find(actor->id());
  const far_end far = known == far_ends_.end() ? far_end{of, actor} : known->second;
  if (far.home == at)
    return far.actor;
  handle& spun = spun_[{at, far.actor->id()}];
  if (!spun) {
    spun = caf::actor_cast<handle>(system_.spawn<wire>(*this, at, far.home, far.actor));
    far_ends_[spun->id()] = far;
  }
  return spun;
}

bool wires::loses(const node_name& from, const node_name& to, const caf::message& word) {
  const auto group = [](const node_name& n) { return n.value.substr(0, n.value.find('.')); };
  const bool counts = from.value != "client" && to.value != "client" && group(from) != group(to);
  if (!counts || !lost_ || words_++ != *lost_)
    return false;
  lost_word_ = word_of(word);
  return true;
}

void wires::cut() {
  for (const auto& [ends, spun] : spun_)
    caf::anon_send_exit(caf::actor_cast<caf::actor>(spun), caf::exit_reason::user_shutdown);
  spun_.clear();
  far_ends_.clear();
}

} // namespace baton::tests
