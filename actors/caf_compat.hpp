// The only file that knows which CAF this is (0.17.6 on every Debian of today): how a struct with
// fields() crosses process borders, and the few names of CAF that the actors use.
#pragma once

#include "protocol/fields.hpp"
#include "protocol/ids.hpp"
#include "protocol/packed_floats.hpp"
#include "protocol/tokens.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/all.hpp>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

static_assert(CAF_MAJOR_VERSION == 0 && CAF_MINOR_VERSION == 17,
              "port actors/caf_compat.hpp to this version of CAF first");

namespace baton::actors {

using handle = caf::strong_actor_ptr;

/// Vectors of plain numbers travel as one string: CAF 0.17 serialises vectors element by element.
template <class Inspector, class T>
typename Inspector::result_type inspect_packed(Inspector& f, std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  if constexpr (std::is_void_v<typename Inspector::result_type>) {
    const std::string count = std::to_string(values.size()); // for people: never the values
    return f(count);
  } else {
    std::string bytes;
    if constexpr (Inspector::reads_state) {
      bytes.resize(values.size() * sizeof(T));
      std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    auto result = f(bytes);
    if constexpr (Inspector::writes_state) {
      values.resize(bytes.size() / sizeof(T));
      std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    }
    return result;
  }
}

} // namespace baton::actors

namespace baton::protocol {

template <class Inspector, class T, std::enable_if_t<has_fields_v<T>, int> = 0>
typename Inspector::result_type inspect(Inspector& f, T& x) {
  return std::apply(
    [&](auto... members) { return f(caf::meta::type_name(T::type), members.value...); },
    T::fields(x));
}

template <class Inspector, class Tag, class Rep>
typename Inspector::result_type inspect(Inspector& f, strong<Tag, Rep>& x) {
  return f(x.value);
}

template <class Inspector, class Tag>
typename Inspector::result_type inspect(Inspector& f, random_id<Tag>& x) {
  return f(x.high, x.low);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, token_list& x) {
  return actors::inspect_packed(f, x.ids);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, packed_floats& x) {
  return actors::inspect_packed(f, x.values);
}

} // namespace baton::protocol
