// The one way from a mailbox to a pure machine and back: message -> event -> step -> record ->
// effects.
//
// A derived actor names its machine, says what its records are about, and has one `run` for each
// effect. It adds no decision of its own: a branch on the state belongs into protocol/.
#pragma once

#include "actors/shell.hpp"
#include "protocol/step.hpp"

#include <variant>
#include <vector>

namespace baton::actors {

template <class Derived, class State, class Event, class Effect>
class machine_actor : public shell {
public:
  using shell::shell;

protected:
  /// One handler for each alternative of Event, and `more`; Derived::make_behavior returns it.
  template <class... More>
  caf::behavior machine_behavior(More... more) {
    return machine_behavior_of(static_cast<Event*>(nullptr), std::move(more)...);
  }

  const State& state() const { return state_; }

  /// What a derived actor notes of a message before its machine is stepped (who sent it): nothing,
  /// unless it says otherwise for that type.
  template <class T>
  void arrived(const handle&, const T&) {}

private:
  friend class shell;

  template <class... Alternatives, class... More>
  caf::behavior machine_behavior_of(std::variant<Alternatives...>*, More... more) {
    return caf::behavior{handler<Alternatives>(self())..., std::move(more)...};
  }

protected:
  template <class T>
  void on_message(const protocol::message_header& header, const handle& with, T& message) {
    self()->arrived(with, message);
    take(header, Event{std::move(message)});
  }

private:
  void take(const protocol::message_header& header, Event event) {
    const protocol::instant begin = node().clock();
    const char* before = name_of(state_);
    auto result = step(std::move(state_), event, begin);
    state_ = std::move(result.state);
    record(header, event, before, result.effects, begin);
    for (auto& effect : result.effects)
      std::visit([&](auto& e) { self()->run(e); }, effect);
  }

  void record(const protocol::message_header& header, const Event& event, const char* before,
              const std::vector<Effect>& effects, protocol::instant begin) {
    if (!node().trace)
      return;
    const char* type = std::visit([](const auto& e) { return std::decay_t<decltype(e)>::type; },
                                  event);
    auto entry = record_of(header, type, self()->about_what(), begin);
    entry.machine = Derived::machine;
    entry.before = before;
    entry.after = name_of(state_);
    for (const auto& effect : effects)
      entry.effects.emplace_back(
        std::visit([](const auto& e) { return std::decay_t<decltype(e)>::type; }, effect));
    entry.end_ns = node().clock().ns;
    node().trace->record(std::move(entry), [event] { return json_of(event); });
  }

  static protocol::json json_of(const Event& event) {
    return std::visit([](const auto& e) { return protocol::to_json(e); }, event);
  }

  Derived* self() { return static_cast<Derived*>(this); }

  State state_;
};

} // namespace baton::actors
