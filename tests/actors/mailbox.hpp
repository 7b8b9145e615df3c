// The test as one more actor: it sends as actors do, and takes what it was sent one by one.
#pragma once

#include "actors/shell.hpp"

#include <chrono>
#include <variant>
#include <vector>

namespace baton::actors {

constexpr std::chrono::seconds mail_wait{60}; // sanitizers are slow

class mailbox {
public:
  mailbox(caf::actor_system& system, node_context& node) : node_(node), self_(system) {}

  handle own() const { return caf::actor_cast<handle>(self_.ptr()); }

  template <class T>
  void tell(const handle& to, T message, handle with = {}) {
    protocol::message_header header{node_.next_message_id(), 0, "test", 0};
    self_->send(caf::actor_cast<caf::actor>(to), std::move(header), std::move(with),
                std::move(message));
  }

  /// As above, with several handles: only hello travels so.
  template <class T>
  void tell(const handle& to, T message, std::vector<handle> with) {
    protocol::message_header header{node_.next_message_id(), 0, "test", 0};
    self_->send(caf::actor_cast<caf::actor>(to), std::move(header), std::move(message),
                std::move(with));
  }

  /// The first message of these types that has not been taken yet, in the order of arrival;
  /// monostate when none has come in time.
  template <class... Ts>
  std::variant<std::monostate, Ts...> next() {
    std::variant<std::monostate, Ts...> taken;
    self_->receive([&taken](const protocol::message_header&, const handle&, const Ts& e) {
                     taken = e;
                   }...,
                   caf::after(mail_wait) >> [] {});
    return taken;
  }

private:
  node_context& node_;
  caf::scoped_actor self_;
};

} // namespace baton::actors
