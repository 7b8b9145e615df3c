#include "protocol/membership.hpp"

#include <algorithm>

namespace baton::protocol {

namespace membership {

namespace {

using effects_list = std::vector<effect>;

bool whole(const group_state& g) {
  return std::find(g.lives.begin(), g.lives.end(), incarnation{}) == g.lives.end();
}

bool fits(const group_state& g, group_role wanted, const group_name& pinned) {
  if (!pinned.value.empty())
    return g.entry.name == pinned && (g.entry.role == wanted || g.entry.role == group_role::mixed);
  return g.entry.role == wanted;
}

/// The whole group of this role with the fewest attempts; the decode group's own ledger is the
/// authority on room, so this is only a preference.
const group_state* pick(const state& s, group_role wanted, const group_name& pinned) {
  const group_state* best = nullptr;
  for (const auto& [name, g] : s.groups)
    if (whole(g) && fits(g, wanted, pinned) && (best == nullptr || g.attempts < best->attempts))
      best = &g;
  return best;
}

failure no_group(const state& s, group_role wanted, const group_name& pinned) {
  const bool known = pinned.value.empty() || s.groups.count(pinned) > 0;
  const std::string which = pinned.value.empty() ? std::string("role ") + to_string(wanted)
                                                 : "name " + pinned.value;
  if (!known)
    return {reason::bad_input, "the cluster has no group of " + which};
  return {reason::peer_lost, "no whole group of " + which + " that can " + to_string(wanted)};
}

effect place(state& s, const place_attempt& e) {
  if (const auto before = s.placed.find(e.attempt); before != s.placed.end())
    return before->second; // asked twice, counted once
  const auto& spec = e.spec;
  const group_state* decode = pick(s, group_role::decode, spec.decode_group);
  if (decode == nullptr && spec.decode_group.value.empty())
    decode = pick(s, group_role::mixed, {});
  if (decode == nullptr)
    return place_refused{e.attempt, no_group(s, group_role::decode, spec.decode_group)};
  const bool mixed = decode->entry.role == group_role::mixed;
  const group_state* prefill = mixed && spec.prefill_group.value.empty()
                                 ? decode
                                 : pick(s, group_role::prefill, spec.prefill_group);
  if (prefill == nullptr)
    return place_refused{e.attempt, no_group(s, group_role::prefill, spec.prefill_group)};
  attempt_placed placed;
  placed.attempt = e.attempt;
  placed.decode_group = decode->entry.name;
  placed.source = {prefill->entry.name, prefill->entry.ranks, prefill->lives};
  ++s.groups[decode->entry.name].attempts;
  ++s.groups[prefill->entry.name].attempts;
  s.placed.emplace(e.attempt, placed);
  return placed;
}

failure objection(const state& s, const request_arrived& e) {
  const auto tenant = s.tenants.find(e.spec.tenant);
  if (tenant == s.tenants.end())
    return {reason::not_permitted, "unknown tenant '" + e.spec.tenant.value + "'"};
  if (s.open.size() >= s.requests_open_max)
    return {reason::queue_full, std::to_string(s.open.size()) + " requests are open, the limit is "
                                  + std::to_string(s.requests_open_max)};
  const auto open = s.open_by_tenant.find(e.spec.tenant);
  if (open != s.open_by_tenant.end() && open->second >= tenant->second.requests_open_max)
    return {reason::not_permitted, "tenant '" + e.spec.tenant.value + "' has "
                                     + std::to_string(open->second)
                                     + " requests open, its limit"};
  const std::uint64_t tokens = std::uint64_t{e.spec.prompt_tokens} + e.spec.output_tokens;
  if (tokens > tenant->second.tokens_per_request_max)
    return {reason::not_permitted, "tenant '" + e.spec.tenant.value + "' may ask for "
                                     + std::to_string(tenant->second.tokens_per_request_max)
                                     + " tokens in one request, prompt and output; this one needs "
                                     + std::to_string(tokens)};
  return {};
}

struct stepper {
  state& s;
  effects_list& effects;

  void operator()(const expect_cluster& e) {
    if (!s.groups.empty())
      return; // expected already: a second one must not forget who has joined and what is placed
    s.requests_open_max = e.requests_open_max;
    for (const auto& g : e.groups)
      s.groups[g.name] = {g, std::vector<incarnation>(g.ranks), 0};
    for (const auto& t : e.tenants)
      s.tenants[t.name] = t;
  }

  void operator()(const node_joined& e) {
    const auto it = s.groups.find(e.group);
    if (it == s.groups.end() || e.rank.value >= it->second.lives.size())
      return; // not of this cluster
    auto& life = it->second.lives[e.rank.value];
    if (life != incarnation{} && life != e.life) // restarted before its loss was noticed
      effects.push_back(
        group_lost{e.group, {reason::stale_incarnation, e.node.value + " has a new life"}});
    life = e.life;
    const auto [joined, expected] = ranks_joined(s);
    if (joined == expected && !s.formed) {
      s.formed = true;
      effects.push_back(cluster_formed{});
    }
  }

  void operator()(const node_lost& e) {
    for (auto& [name, g] : s.groups)
      for (auto& life : g.lives)
        if (life == e.life && life != incarnation{}) {
          life = {};
          effects.push_back(group_lost{name, e.why});
        }
  }

  void operator()(const request_arrived& e) {
    if (failure why = objection(s, e)) {
      effects.push_back(request_refused{e.request, e.spec.external, why});
      return;
    }
    if (s.open.emplace(e.request, e.spec.tenant).second)
      ++s.open_by_tenant[e.spec.tenant];
    effects.push_back(request_admitted{e.request, e.spec.external});
  }

  void operator()(const request_gone& e) {
    const auto it = s.open.find(e.request);
    if (it == s.open.end())
      return;
    --s.open_by_tenant[it->second];
    s.open.erase(it);
  }

  void operator()(const place_attempt& e) { effects.push_back(place(s, e)); }

  void operator()(const attempt_drained& e) {
    const auto it = s.placed.find(e.attempt);
    if (it == s.placed.end())
      return;
    --s.groups[it->second.decode_group].attempts;
    --s.groups[it->second.source.group].attempts;
    s.placed.erase(it);
  }
};

} // namespace

step_result step(state before, const event& event, instant) {
  step_result result{std::move(before), {}};
  std::visit(stepper{result.state, result.effects}, event);
  return result;
}

const char* name_of(const state& s) { return s.formed ? "formed" : "forming"; }

std::pair<std::uint32_t, std::uint32_t> ranks_joined(const state& s) {
  std::uint32_t joined = 0;
  std::uint32_t expected = 0;
  for (const auto& [name, g] : s.groups) {
    expected += static_cast<std::uint32_t>(g.lives.size());
    for (const auto& life : g.lives)
      joined += life != incarnation{} ? 1 : 0;
  }
  return {joined, expected};
}

} // namespace membership
} // namespace baton::protocol
