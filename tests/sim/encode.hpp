// Any state or message of protocol/ as bytes: equal bytes, equal value. Structs that describe their
// members (protocol/fields.hpp) are written by them; a machine's private bodies by structured
// bindings, so that a member that is added and not written does not compile.
#pragma once

#include "protocol/clock.hpp"
#include "protocol/fields.hpp"
#include "protocol/ids.hpp"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace baton::sim {

using bytes = std::string;

namespace encoding {

struct anything {
  template <class T>
  operator T() const; // never defined: only asked whether it would do
};

template <class T, class Indices, class = void>
struct takes : std::false_type {};
template <class T, std::size_t... I>
struct takes<T, std::index_sequence<I...>,
             std::void_t<decltype(T{(static_cast<void>(I), anything{})...})>> : std::true_type {};

/// Members of an aggregate: the largest number of initialisers that it takes.
template <class T, std::size_t N = 12>
constexpr std::size_t members() {
  if constexpr (N == 0 || takes<T, std::make_index_sequence<N>>::value)
    return N;
  else
    return members<T, N - 1>();
}

} // namespace encoding

template <class T, std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>, int> = 0>
void encode(bytes& out, const T& v) {
  // Small numbers are common: the first byte says how many follow.
  auto n = static_cast<std::uint64_t>(v);
  if (n < 0xf0) {
    out.push_back(static_cast<char>(n));
    return;
  }
  out.push_back(static_cast<char>(0xf8));
  for (int i = 0; i < 8; ++i, n >>= 8)
    out.push_back(static_cast<char>(n & 0xff));
}
inline void encode(bytes& out, const std::string& v) {
  encode(out, v.size());
  out += v;
}

template <class Tag, class Rep>
void encode(bytes& out, const protocol::strong<Tag, Rep>& v);
template <class A, class B>
void encode(bytes& out, const std::pair<A, B>& v);
template <class T>
void encode(bytes& out, const std::vector<T>& v);
template <class T>
void encode(bytes& out, const std::deque<T>& v);
template <class K, class V>
void encode(bytes& out, const std::map<K, V>& v);
template <class T>
void encode(bytes& out, const std::set<T>& v);
template <class T>
void encode(bytes& out, const std::optional<T>& v);
template <class... Ts>
void encode(bytes& out, const std::variant<Ts...>& v);
template <class T, std::enable_if_t<std::is_class_v<T> && !protocol::has_fields_v<const T>
                                      && std::is_aggregate_v<T>,
                                    int>
                   = 0>
void encode(bytes& out, const T& v);

template <class T, std::enable_if_t<protocol::has_fields_v<const T>, int> = 0>
void encode(bytes& out, const T& v) {
  protocol::for_each_field(v, [&](const char*, const auto& member) { encode(out, member); });
}

template <class Tag, class Rep>
void encode(bytes& out, const protocol::strong<Tag, Rep>& v) {
  encode(out, v.value);
}
template <class A, class B>
void encode(bytes& out, const std::pair<A, B>& v) {
  encode(out, v.first);
  encode(out, v.second);
}
template <class T>
void encode(bytes& out, const std::vector<T>& v) {
  encode(out, v.size());
  if constexpr (std::is_same_v<T, bool>)
    for (const bool b : v)
      encode(out, b);
  else
    for (const auto& x : v)
      encode(out, x);
}
template <class T>
void encode(bytes& out, const std::deque<T>& v) {
  encode(out, v.size());
  for (const auto& x : v)
    encode(out, x);
}
template <class K, class V>
void encode(bytes& out, const std::map<K, V>& v) {
  encode(out, v.size());
  for (const auto& [key, value] : v) {
    encode(out, key);
    encode(out, value);
  }
}
template <class T>
void encode(bytes& out, const std::set<T>& v) {
  encode(out, v.size());
  for (const auto& x : v)
    encode(out, x);
}
template <class T>
void encode(bytes& out, const std::optional<T>& v) {
  encode(out, v.has_value());
  if (v)
    encode(out, *v);
}
template <class... Ts>
void encode(bytes& out, const std::variant<Ts...>& v) {
  encode(out, v.index());
  std::visit([&](const auto& x) { encode(out, x); }, v);
}

template <class... Ts>
void encode_all(bytes& out, const Ts&... members) {
  (encode(out, members), ...);
}

template <class T, std::enable_if_t<std::is_class_v<T> && !protocol::has_fields_v<const T>
                                      && std::is_aggregate_v<T>,
                                    int>>
void encode(bytes& out, const T& v) {
  constexpr std::size_t n = std::is_empty_v<T> ? 0 : encoding::members<T>();
  static_assert(n <= 11, "write the larger aggregate's members here");
  if constexpr (n == 1) {
    const auto& [a] = v;
    encode_all(out, a);
  } else if constexpr (n == 2) {
    const auto& [a, b] = v;
    encode_all(out, a, b);
  } else if constexpr (n == 3) {
    const auto& [a, b, c] = v;
    encode_all(out, a, b, c);
  } else if constexpr (n == 4) {
    const auto& [a, b, c, d] = v;
    encode_all(out, a, b, c, d);
  } else if constexpr (n == 5) {
    const auto& [a, b, c, d, e] = v;
    encode_all(out, a, b, c, d, e);
  } else if constexpr (n == 6) {
    const auto& [a, b, c, d, e, f] = v;
    encode_all(out, a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    const auto& [a, b, c, d, e, f, g] = v;
    encode_all(out, a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    const auto& [a, b, c, d, e, f, g, h] = v;
    encode_all(out, a, b, c, d, e, f, g, h);
  } else if constexpr (n == 9) {
    const auto& [a, b, c, d, e, f, g, h, i] = v;
    encode_all(out, a, b, c, d, e, f, g, h, i);
  } else if constexpr (n == 10) {
    const auto& [a, b, c, d, e, f, g, h, i, j] = v;
    encode_all(out, a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (n == 11) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k] = v;
    encode_all(out, a, b, c, d, e, f, g, h, i, j, k);
  }
}

template <class T>
bytes encoded(const T& v) {
  bytes out;
  encode(out, v);
  return out;
}

} // namespace baton::sim
