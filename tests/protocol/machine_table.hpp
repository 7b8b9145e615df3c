// A machine's transition table as text: one line for each event offered to one state.
//
//   label of the event -> name of the next state: type of each effect
//   label of the event -> same                                  nothing changes, nothing is said
//   label of the event -> aborts                                a broken invariant
//
// Every step runs in a child process, so that an abort is a result like any other.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace baton::tests {

/// An event and the words that a table uses for it.
template <class Event>
struct labelled {
  std::string label;
  Event event;
};

/// What `run` returned, or "aborts" when the process that ran it was ended by SIGABRT. The child's
/// standard output and error are discarded.
std::string outcome_in_child(const std::function<std::string()>& run);

/// Lines of a table without blanks around them; empty lines are dropped, and a line that begins
/// with + continues the one before.
std::vector<std::string> lines_of(const std::string& table);

template <class T>
struct alternatives;
template <class... T>
struct alternatives<std::variant<T...>> {
  static std::vector<std::string> names() { return {T::type...}; }
};

template <class Effect>
std::string types_of(const std::vector<Effect>& effects) {
  std::string text;
  for (const Effect& effect : effects)
    text += std::string(text.empty() ? "" : " ")
            + std::visit([](const auto& e) { return std::decay_t<decltype(e)>::type; }, effect);
  return text;
}

/// One cell of a table. `Machine` offers step, and the types state and event.
template <class Machine>
std::string cell(const typename Machine::state& before, const typename Machine::event& event) {
  return outcome_in_child([&]() -> std::string {
    const auto result = Machine::step(before, event);
    const std::string from = Machine::name_of(before);
    const std::string to = Machine::name_of(result.state);
    if (from == to && result.effects.empty())
      return "same";
    return to + (result.effects.empty() ? "" : ": " + types_of(result.effects));
  });
}

/// Compares the state's whole table with `expected`, which must name every event of the machine.
template <class Machine>
void check_table(const typename Machine::state& before,
                 const std::vector<labelled<typename Machine::event>>& events,
                 const std::string& expected) {
  std::vector<std::string> actual;
  std::set<std::string> types;
  for (const auto& e : events) {
    actual.push_back(e.label + " -> " + cell<Machine>(before, e.event));
    types.insert(
      std::visit([](const auto& m) { return std::decay_t<decltype(m)>::type; }, e.event));
  }
  for (const auto& name : alternatives<typename Machine::event>::names())
    CHECK_MESSAGE(types.count(name) == 1, "the table has no line for ", name);
  const auto lines = lines_of(expected);
  for (std::size_t i = 0; i < std::max(actual.size(), lines.size()); ++i)
    CHECK((i < actual.size() ? actual[i] : "no such event")
          == (i < lines.size() ? lines[i] : "no such line"));
}

} // namespace baton::tests
