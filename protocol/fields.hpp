// One description of a struct's members serves the wire (CAF), the trace (JSON) and equality.
//
//   struct block_ref {
//     block_id block;
//     generation gen;
//     static constexpr const char* type = "block_ref";
//     template <class S> static auto fields(S& s) {
//       return std::make_tuple(field("block", s.block), field("gen", s.gen));
//     }
//   };
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

namespace baton::protocol {

/// A member's name, as it appears in traces and errors, and a reference to its value.
template <class T>
struct named_field {
  const char* name;
  T& value;
};

template <class T>
constexpr named_field<T> field(const char* name, T& value) {
  return {name, value};
}

template <class T, class = void>
struct has_fields : std::false_type {};
template <class T>
struct has_fields<T, std::void_t<decltype(std::remove_const_t<T>::fields(std::declval<T&>()))>>
  : std::true_type {};
template <class T>
inline constexpr bool has_fields_v = has_fields<T>::value;

/// Calls `visit(name, member)` for each member of `self`, in declaration order.
template <class S, class Visitor>
void for_each_field(S& self, Visitor&& visit) {
  std::apply([&](auto... f) { (visit(f.name, f.value), ...); },
             std::remove_const_t<S>::fields(self));
}

/// Member-wise equality of any struct with fields.
template <class S, std::enable_if_t<has_fields_v<S>, int> = 0>
bool operator==(const S& a, const S& b) {
  auto left = S::fields(a);
  auto right = S::fields(b);
  return std::apply(
    [&](auto... l) {
      return std::apply([&](auto... r) { return ((l.value == r.value) && ...); }, right);
    },
    left);
}

template <class S, std::enable_if_t<has_fields_v<S>, int> = 0>
bool operator!=(const S& a, const S& b) {
  return !(a == b);
}

} // namespace baton::protocol
