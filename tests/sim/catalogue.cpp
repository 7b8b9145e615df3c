#include "tests/sim/catalogue.hpp"

#include "protocol/assert.hpp"
#include "tests/sim/judge.hpp"
#include "tests/sim/routes.hpp"

namespace baton::sim {

using namespace protocol;

std::size_t catalogue::step_hash::operator()(const step_key& k) const {
  std::uint64_t h = k.self * 0x9e3779b97f4a7c15ULL;
  h = (h ^ (h >> 29) ^ k.state) * 0xbf58476d1ce4e5b9ULL;
  h = (h ^ (h >> 31) ^ k.event) * 0x94d049bb133111ebULL;
  h = (h ^ (h >> 30) ^ static_cast<std::uint64_t>(k.now_ms)) * 0x9e3779b97f4a7c15ULL;
  return h ^ (h >> 32);
}

template <kind K>
reaction catalogue::compute(const address& self, std::uint32_t before, std::uint32_t event_number,
                            std::int64_t now_ms) {
  reaction r;
  r.next = before;
  const auto was = state<K>(before); // copies: the tables may grow below
  const auto what = event<K>(event_number);
  try {
    const replay_assertions guard;
    auto made = step(was, what, after_ms({0}, now_ms));
    const route_context c{*this, self, r.commands};
    for (const auto& effect : made.effects)
      route(c, effect);
    if constexpr (K == kind::pool)
      r.broken = judge_pool(was, made.state, r.changes);
    if constexpr (K == kind::request)
      r.broken = judge_request(was, r.commands);
    r.next = put_state<K>(made.state);
  } catch (const assertion_broken& e) {
    r.broken = std::string("assertion: ") + e.what + " (" + name_of(was) + ", "
               + event_name(K, event_number) + ")";
  }
  return r;
}

const reaction& catalogue::react(std::uint32_t self, std::uint32_t state, std::uint32_t event,
                                 std::int64_t now_ms) {
  const step_key key{self, state, event, now_ms};
  const auto it = reactions_.find(key);
  if (it != reactions_.end())
    return it->second;
  const address who = address::unpacked(self);
  auto made = with_kind(who.what, [&](auto k) {
    return compute<k.value>(who, state, event, now_ms);
  });
  return reactions_.emplace(key, std::move(made)).first->second;
}

std::uint32_t catalogue::nascent(kind what) {
  return with_kind(what, [&](auto k) { return put_state<k.value>({}); });
}

std::string catalogue::state_name(kind what, std::uint32_t id) const {
  return with_kind(what, [&](auto k) -> std::string { return name_of(state<k.value>(id)); });
}

const char* catalogue::event_name(kind what, std::uint32_t id) const {
  return with_kind(what, [&](auto k) {
    return std::visit([](const auto& e) { return std::decay_t<decltype(e)>::type; },
                      event<k.value>(id));
  });
}

std::size_t catalogue::size() const {
  return std::apply([](const auto&... t) { return ((t.states.size() + t.events.size()) + ...); },
                    tables_);
}

} // namespace baton::sim
