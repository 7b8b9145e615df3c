// JSON forms of everything that is not a struct with fields: see json_codec.hpp, which is the one
// to include.
#pragma once

#include "protocol/clock.hpp"
#include "protocol/ids.hpp"
#include "protocol/outcome.hpp"
#include "protocol/packed_floats.hpp"
#include "protocol/real.hpp"
#include "protocol/tokens.hpp"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace baton::protocol {

using json = nlohmann::json;

/// Where in a document and why. The path grows from the inside out while reading returns.
struct json_problem {
  std::string path;
  std::string why;

  void under(const std::string& name) { path = name + (needs_dot() ? "." : "") + path; }
  void under(std::size_t index) { under("[" + std::to_string(index) + "]"); }

private:
  bool needs_dot() const { return !path.empty() && path.front() != '['; }
};
using json_error = std::optional<json_problem>;

/// "path: why", or only why for the whole document.
std::string describe(const json_problem& problem);
/// "expected <what>, got <kind or short value>"
json_problem expected(const std::string& what, const json& got);

/// write(const T&) -> json and read(const json&, T&) -> json_error. `may_be_null` tells optional<T>
/// that null is a value of T.
template <class T, class = void>
struct json_form;

template <class T, class = void>
inline constexpr bool may_be_null = false;

template <>
struct json_form<bool> {
  static json write(bool value) { return value; }
  static json_error read(const json& from, bool& value);
};

template <>
struct json_form<std::string> {
  static json write(const std::string& value) { return value; }
  static json_error read(const json& from, std::string& value);
};

/// Integers: exact, in the range of their type. 1.0 is not an integer.
json_error read_integer(const json& from, std::int64_t min, std::uint64_t max, json& value);

template <class T>
struct json_form<T, std::enable_if_t<std::is_integral_v<T>>> {
  static json write(T value) { return value; }
  static json_error read(const json& from, T& value) {
    using range = std::numeric_limits<T>;
    json number;
    json_error error = read_integer(from, std::is_signed_v<T> ? std::int64_t{range::min()} : 0,
                                    static_cast<std::uint64_t>(range::max()), number);
    if (!error)
      value = number.get<T>();
    return error;
  }
};

/// An enum says where it ends by a function beside it, `constexpr colour last_value(colour)`;
/// without one, every number of 8 bits is accepted.
template <class T, class = void>
inline constexpr std::uint8_t enum_number_max = 255;
template <class T>
inline constexpr std::uint8_t enum_number_max<T, std::void_t<decltype(last_value(T{}))>>
  = static_cast<std::uint8_t>(last_value(T{}));

template <class T>
struct json_form<T, std::enable_if_t<std::is_enum_v<T>>> {
  static_assert(sizeof(T) == 1, "enums in messages have 8 bits");
  static json write(T value) { return static_cast<std::uint8_t>(value); }
  static json_error read(const json& from, T& value) {
    json number;
    json_error error = read_integer(from, 0, enum_number_max<T>, number);
    if (!error)
      value = static_cast<T>(number.get<std::uint8_t>());
    return error;
  }
};

template <>
struct json_form<reason> {
  static json write(reason value) { return to_string(value); }
  static json_error read(const json& from, reason& value);
};

/// A finite number as itself; others, which JSON cannot write, as {"bits": N}.
template <>
struct json_form<real> {
  static json write(const real& value);
  static json_error read(const json& from, real& value);
};

template <>
struct json_form<instant> {
  static json write(const instant& value) { return value.ns; }
  static json_error read(const json& from, instant& value) {
    return json_form<std::int64_t>::read(from, value.ns);
  }
};

template <>
struct json_form<token_list> {
  static json write(const token_list& value) { return {{"count", value.ids.size()}}; }
  static json_error read(const json& from, token_list& value);
};

template <>
struct json_form<token_id> {
  static json write(const token_id&) { return nullptr; }
  static json_error read(const json& from, token_id& value);
};
template <>
inline constexpr bool may_be_null<token_id> = true;

template <>
struct json_form<private_text> {
  static json write(const private_text& value) { return {{"bytes", value.text.size()}}; }
  static json_error read(const json&, private_text& value) {
    value = {};
    return {};
  }
};

template <>
struct json_form<packed_floats> {
  static json write(const packed_floats& value) { return {{"count", value.values.size()}}; }
  static json_error read(const json& from, packed_floats& value);
};

template <class Tag, class Rep>
struct json_form<strong<Tag, Rep>> {
  static json write(const strong<Tag, Rep>& value) { return json_form<Rep>::write(value.value); }
  static json_error read(const json& from, strong<Tag, Rep>& value) {
    return json_form<Rep>::read(from, value.value);
  }
};

json_error read_hex(const json& from, std::uint64_t& high, std::uint64_t& low);

template <class Tag>
struct json_form<random_id<Tag>> {
  static json write(const random_id<Tag>& value) { return to_string(value); }
  static json_error read(const json& from, random_id<Tag>& value) {
    return read_hex(from, value.high, value.low);
  }
};

/// null and the value; where null is a value of T, [] and [value].
template <class T>
struct json_form<std::optional<T>> {
  static json write(const std::optional<T>& value) {
    json inner = value ? json_form<T>::write(*value) : json();
    if constexpr (may_be_null<T>)
      return value ? json::array({inner}) : json::array();
    return inner;
  }

  static json_error read(const json& from, std::optional<T>& value) {
    value.reset();
    if constexpr (may_be_null<T>) {
      if (!from.is_array() || from.size() > 1)
        return expected("[] or [value]", from);
      return from.empty() ? json_error() : json_form<T>::read(from[0], value.emplace());
    } else {
      return from.is_null() ? json_error() : json_form<T>::read(from, value.emplace());
    }
  }
};
template <class T>
inline constexpr bool may_be_null<std::optional<T>> = true;

template <class T>
struct json_form<std::vector<T>> {
  static json write(const std::vector<T>& value) {
    json array = json::array();
    for (const T& element : value)
      array.push_back(json_form<T>::write(element));
    return array;
  }

  static json_error read(const json& from, std::vector<T>& value) {
    if (!from.is_array())
      return expected("an array", from);
    value.clear();
    for (std::size_t i = 0; i < from.size(); ++i) {
      T element{};
      if (json_error error = json_form<T>::read(from[i], element)) {
        error->under(i);
        return error;
      }
      value.push_back(std::move(element));
    }
    return {};
  }
};

template <class T, std::size_t N>
struct json_form<std::array<T, N>> {
  static json write(const std::array<T, N>& value) {
    json array = json::array();
    for (const T& element : value)
      array.push_back(json_form<T>::write(element));
    return array;
  }

  static json_error read(const json& from, std::array<T, N>& value) {
    if (!from.is_array() || from.size() != N)
      return expected("an array of " + std::to_string(N), from);
    for (std::size_t i = 0; i < N; ++i)
      if (json_error error = json_form<T>::read(from[i], value[i])) {
        error->under(i);
        return error;
      }
    return {};
  }
};

template <class A, class B>
struct json_form<std::pair<A, B>> {
  static json write(const std::pair<A, B>& value) {
    return json::array({json_form<A>::write(value.first), json_form<B>::write(value.second)});
  }

  static json_error read(const json& from, std::pair<A, B>& value) {
    if (!from.is_array() || from.size() != 2)
      return expected("an array of 2", from);
    json_error error = json_form<A>::read(from[0], value.first);
    if (error) {
      error->under(std::size_t{0});
      return error;
    }
    error = json_form<B>::read(from[1], value.second);
    if (error)
      error->under(std::size_t{1});
    return error;
  }
};

} // namespace baton::protocol
