// How parties of a conversation speak. Included by conversation*.cpp only.
#pragma once

#include "tests/protocol/conversation.hpp"

namespace baton::tests {

template <class Party, class Event>
void conversation::take(Party& party, const Event& event) {
  if (party.ended)
    return; // its actor is gone
  const std::string before = trace_ == nullptr ? "" : name_of(party.state);
  auto result = step(std::move(party.state), event, now_);
  party.state = std::move(result.state);
  if (trace_ != nullptr)
    trace_->handled(party.name, {Event::type, json_of(typename Party::event{event}), before,
                                 name_of(party.state), names_of(result.effects)},
                    now_);
  for (const auto& effect : result.effects) {
    if (std::visit([](const auto& e) { return std::string(e.type) == "end_actor"; }, effect))
      party.ended = true;
    else
      run(party, effect);
  }
  if (trace_ != nullptr)
    trace_->ends_handling();
}

template <class Party, class Event>
void conversation::tell(const std::string& from, Party& to, Event event) {
  send(from, to.name, Event::type, [this, &to, event] { take(to, event); });
}

template <class Party, class Event>
void conversation::tell_far(const std::string& from, Party& to, Event event) {
  send_far(from, to.name, Event::type, [this, &to, event] { take(to, event); });
}

template <class Party, class Event>
void conversation::wake(Party& party, std::int64_t delay_ms, Event event) {
  timers_.push_back({protocol::after_ms(now_, delay_ms), party.name + ": " + Event::type,
                     [this, &party, event] { take(party, event); },
                     [&party] { return party.ended; }});
}

} // namespace baton::tests
