// What a machine's step returns. Steps are pure: same arguments, same answer.
#pragma once

#include <utility>
#include <vector>

namespace baton::protocol {

template <class State, class Effect>
struct stepped {
  State state;
  std::vector<Effect> effects;
};

/// Visits a variant with one lambda per alternative; no default is ever supplied.
template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

} // namespace baton::protocol
