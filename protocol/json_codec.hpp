// Any struct with fields() to JSON and back: traces, configuration digests, tests.
//
//   struct with fields    {"name": ...}            random_id      "32 hexadecimal digits"
//   variant of structs    {"type": ..., fields}    instant        nanoseconds
//   strong<>              its value                reason         its name
//   optional              null or the value        other enums    a number
//   vector, array, pair   [...]                    token_*        redacted (tokens.hpp)
//
// Reading accepts extra fields (a newer trace) and nothing else: a missing field, a number that
// does not fit, an unknown `type` or another kind of value is bad_input with the field's path.
#pragma once

#include "protocol/json_values.hpp"

namespace baton::protocol {

/// The JSON form of a value.
template <class T>
json to_json(const T& value) {
  return json_form<T>::write(value);
}

/// Reads to_json's form back. bad_input names the field's path and the reason:
/// "attempt.ordinal: expected 0 to 4294967295, got -1". Never throws.
template <class T>
outcome<T> from_json(const json& from) {
  T value{};
  json_error error = json_form<T>::read(from, value);
  if (error)
    return failure{reason::bad_input, describe(*error)};
  return value;
}

/// One line of text. Bytes that are not UTF-8 are replaced, so that this cannot fail.
std::string to_text(const json& value);

/// Parses one JSON text. bad_input names line, column and reason; a repeated field name of an
/// object is an error too. Never throws.
outcome<json> parse_text(const std::string& text);

// -- structs and variants -------------------------------------------------------------------------

template <class T>
struct json_form<T, std::enable_if_t<has_fields_v<T>>> {
  static json write(const T& value) {
    json object = json::object();
    for_each_field(value, [&object](const char* name, const auto& member) {
      object[name] = json_form<std::decay_t<decltype(member)>>::write(member);
    });
    return object;
  }

  static json_error read(const json& from, T& value) {
    if (!from.is_object())
      return expected("an object", from);
    json_error error;
    for_each_field(value, [&](const char* name, auto& member) {
      if (error)
        return;
      const auto found = from.find(name);
      error = found == from.end()
                ? json_error(json_problem{"", "missing"})
                : json_form<std::decay_t<decltype(member)>>::read(*found, member);
      if (error)
        error->under(name);
    });
    return error;
  }
};

template <class... Alternatives>
struct json_form<std::variant<Alternatives...>> {
  using value_type = std::variant<Alternatives...>;

  static json write(const value_type& value) {
    return std::visit(
      [](const auto& alternative) {
        using type = std::decay_t<decltype(alternative)>;
        json object = json_form<type>::write(alternative);
        object["type"] = type::type;
        return object;
      },
      value);
  }

  static json_error read(const json& from, value_type& value) {
    if (!from.is_object())
      return expected("an object", from);
    const auto found = from.find("type");
    if (found == from.end() || !found->is_string())
      return json_problem{"type", found == from.end() ? "missing" : "expected a string"};
    const std::string& type = found->template get_ref<const std::string&>();
    json_error error;
    const bool known = (read_as<Alternatives>(type, from, value, error) || ...);
    if (!known)
      return json_problem{"type", "unknown type \"" + type + "\""};
    return error;
  }

private:
  template <class T>
  static bool read_as(const std::string& type, const json& from, value_type& value,
                      json_error& error) {
    if (type != T::type)
      return false;
    error = json_form<T>::read(from, value.template emplace<T>());
    return true;
  }
};

} // namespace baton::protocol
