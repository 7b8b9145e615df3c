#include "protocol/trace_fact.hpp"

#include <algorithm>

namespace baton::protocol {

namespace {

template <class Fact>
void drop_prompt(Fact&) {}
void drop_prompt(begin_reservation& e) { e.opened.asked.prompt.ids = {}; }
void drop_prompt(begin_hold& e) { e.opened.asked.prompt.ids = {}; }
void drop_prompt(activate_sequence& e) { e.prompt.ids = {}; }
void drop_prompt(submit_request& e) { e.prompt.ids = {}; }
void drop_prompt(source_ready& e) { e.resume.values = {}; }

/// True when the message is a T; `fact` or `error` is set then.
template <class T>
bool read_as(const trace_record& record, trace_fact& fact, json_error& error) {
  if constexpr (std::is_same_v<T, std::monostate>) {
    return false;
  } else {
    if (record.message != T::type)
      return false;
    T& value = fact.emplace<T>();
    error = json_form<T>::read(record.event, value);
    drop_prompt(value);
    return true;
  }
}

template <class... Facts>
outcome<trace_fact> decode_one(const trace_record& record, const std::variant<Facts...>*) {
  trace_fact fact;
  json_error error;
  static_cast<void>((read_as<Facts>(record, fact, error) || ...));
  if (error)
    return failure{reason::bad_input, describe(*error)};
  return fact;
}

} // namespace

bool trace_step::did(const char* effect) const {
  return std::find(record.effects.begin(), record.effects.end(), effect) != record.effects.end();
}

outcome<trace_fact> decode(const trace_record& record) {
  return decode_one(record, static_cast<const trace_fact*>(nullptr));
}

} // namespace baton::protocol
