#include "tests/sim/catalogue.hpp"

#include "protocol/assert.hpp"
#include "tests/sim/judge.hpp"
#include "tests/sim/marks.hpp"
#include "tests/sim/routes.hpp"

namespace baton::sim {

using namespace protocol;

/// Where the step is, or where it would be put.
std::size_t catalogue::slot_of(const step_key& k) const {
  std::uint64_t h = (std::uint64_t{k.self} << 32 | k.state) * 0x9e3779b97f4a7c15ULL;
  h ^= h >> 29;
  h = (h ^ (std::uint64_t{k.event} << 32 | static_cast<std::uint32_t>(k.now_ms)))
      * 0xbf58476d1ce4e5b9ULL;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (h ^ h >> 32) & mask;
  while (slots_[at].taken && !(slots_[at].key == k))
    at = (at + 1) & mask;
  return at;
}

void catalogue::grow() {
  std::vector<step_slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const step_slot& s : old)
    if (s.taken)
      slots_[slot_of(s.key)] = s;
}

template <kind K>
reaction catalogue::compute(const address& self, std::uint32_t before, std::uint32_t event_number,
                            std::int64_t now_ms) {
  reaction r;
  sayings said;
  r.next = before;
  const auto was = state<K>(before); // copies: the tables may grow below
  const auto what = event<K>(event_number);
  try {
    const replay_assertions guard;
    auto made = step(was, what, after_ms({0}, now_ms));
    const route_context c{*this, self, said.commands};
    for (const auto& effect : made.effects)
      route(c, effect);
    if constexpr (K == kind::pool)
      said.broken = judge_pool(was, made.state, said.changes);
    if constexpr (K == kind::request)
      said.broken = judge_request(was, said.commands);
    if constexpr (K == kind::reservation)
      r.commits = std::holds_alternative<reservation::live>(made.state)
                  && !std::holds_alternative<reservation::live>(was);
    if constexpr (K == kind::feed)
      r.received = std::holds_alternative<feed::received>(made.state);
    reach_marks(K, name_of(was), event_name(K, event_number), name_of(made.state));
    r.next = put_state<K>(made.state);
  } catch (const assertion_broken& e) {
    r.asserted = true;
    said.broken = std::string("assertion: ") + e.what + " (" + name_of(was) + ", "
                  + event_name(K, event_number) + ")";
  }
  keep(r, said);
  return r;
}

void catalogue::keep(reaction& r, const sayings& said) {
  r.first_command = static_cast<std::uint32_t>(commands_.size());
  r.commands = static_cast<std::uint16_t>(said.commands.size());
  commands_.insert(commands_.end(), said.commands.begin(), said.commands.end());
  r.first_change = static_cast<std::uint32_t>(changes_.size());
  r.changes = static_cast<std::uint16_t>(said.changes.size());
  changes_.insert(changes_.end(), said.changes.begin(), said.changes.end());
  if (said.broken.empty())
    return;
  r.broken = static_cast<std::uint32_t>(sentences_.size());
  sentences_.push_back(said.broken);
}

reaction catalogue::react(std::uint32_t self, std::uint32_t state, std::uint32_t event,
                          std::int64_t now_ms) {
  const address who = address::unpacked(self);
  if (who.what == kind::lane || who.what == kind::feed)
    now_ms = 0; // these machines look at no clock
  const step_key key{self, state, event, now_ms};
  const step_slot& known = slots_[slot_of(key)];
  if (known.taken)
    return known.made;
  const reaction made = with_kind(who.what, [&](auto k) {
    return compute<k.value>(who, state, event, now_ms);
  });
  if (++steps_ * 2 > slots_.size())
    grow();
  slots_[slot_of(key)] = {key, made, true};
  return made;
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

} // namespace baton::sim
