#include "protocol/trace_order.hpp"

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace baton::protocol {

namespace {

constexpr std::uint32_t none = 0xffff'ffff;

/// Edges to records that must come later: the next of the same actor, and all that it caused.
struct later_records {
  std::vector<std::uint32_t> next_of_actor;
  std::vector<std::uint32_t> first_caused;
  std::vector<std::uint32_t> next_caused; ///< of the same cause
  std::vector<std::uint8_t> waits_for;    ///< 0 to 2 records before it
};

later_records edges(const std::vector<trace_key>& keys, const cause_index& causes) {
  const auto n = static_cast<std::uint32_t>(keys.size());
  later_records later{std::vector<std::uint32_t>(n, none), std::vector<std::uint32_t>(n, none),
                      std::vector<std::uint32_t>(n, none), std::vector<std::uint8_t>(n, 0)};
  std::unordered_map<std::uint32_t, std::uint32_t> last_of_actor;
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto [it, fresh] = last_of_actor.try_emplace(keys[i].actor, i);
    if (!fresh) {
      later.next_of_actor[it->second] = i;
      ++later.waits_for[i];
      it->second = i;
    }
    const auto cause = causes.cause_of(i);
    if (!cause)
      continue;
    later.next_caused[i] = later.first_caused[*cause];
    later.first_caused[*cause] = i;
    ++later.waits_for[i];
  }
  return later;
}

} // namespace

cause_index::cause_index(const std::vector<trace_key>& keys) : keys_(keys) {
  by_id_.reserve(keys.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i)
    by_id_.emplace_back(keys[i].id, i);
  std::sort(by_id_.begin(), by_id_.end());
}

std::optional<std::size_t> cause_index::cause_of(std::size_t index) const {
  const trace_key& key = keys_[index];
  if (key.cause == 0)
    return {};
  auto it = std::lower_bound(by_id_.begin(), by_id_.end(), std::pair{key.cause, std::uint32_t{0}});
  std::optional<std::size_t> found;
  for (; it != by_id_.end() && it->first == key.cause; ++it) {
    const std::int64_t begin = keys_[it->second].begin_ns;
    const bool better = !found || (begin <= key.begin_ns && begin > keys_[*found].begin_ns);
    if (it->second != index && better)
      found = it->second;
  }
  return found;
}

causal_order order_records(const std::vector<trace_key>& keys, const cause_index& causes) {
  later_records later = edges(keys, causes);
  using entry = std::pair<std::int64_t, std::uint32_t>;
  std::priority_queue<entry, std::vector<entry>, std::greater<>> ready;
  const auto release = [&](std::uint32_t i) {
    if (--later.waits_for[i] == 0)
      ready.emplace(keys[i].begin_ns, i);
  };
  for (std::uint32_t i = 0; i < keys.size(); ++i)
    if (later.waits_for[i] == 0)
      ready.emplace(keys[i].begin_ns, i);
  causal_order order;
  order.records.reserve(keys.size());
  std::vector<bool> placed(keys.size(), false);
  while (!ready.empty()) {
    const std::uint32_t i = ready.top().second;
    ready.pop();
    order.records.push_back(i);
    placed[i] = true;
    if (later.next_of_actor[i] != none)
      release(later.next_of_actor[i]);
    for (std::uint32_t c = later.first_caused[i]; c != none; c = later.next_caused[c])
      release(c);
  }
  order.contradictions = keys.size() - order.records.size();
  for (std::uint32_t i = 0; i < keys.size(); ++i)
    if (!placed[i])
      order.records.push_back(i);
  return order;
}

} // namespace baton::protocol
