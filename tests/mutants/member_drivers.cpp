// The router's view of the cluster against a few lines that say what it should be: nodes join, are
// lost, come back with a new life before or after their loss is noticed; requests come and go.
#include "protocol/membership.hpp"
#include "protocol/splitmix.hpp"
#include "tests/mutants/driver.hpp"
#include "tests/mutants/drawn_conversation.hpp"

#include <algorithm>
#include <set>

namespace baton::mutants {

namespace {

using namespace protocol;

constexpr std::uint64_t seeds_max = 500;
constexpr std::uint32_t moves_max = 200;
constexpr std::uint32_t groups = 3, ranks = 2;
constexpr std::uint32_t open_max = 2;
const char* const names[groups] = {"D3", "P7", "P8"};

class cluster_world {
public:
  explicit cluster_world(std::uint64_t seed, tests::conversation_trace* trace = nullptr)
    : chance_(seed), trace_(trace) {
    expect_cluster e;
    for (std::uint32_t g = 0; g < groups; ++g)
      e.groups.push_back({{names[g]}, g == 0 ? group_role::decode : group_role::prefill, ranks});
    tenant_entry tenant;
    tenant.name = {"tenant-1"};
    tenant.requests_open_max = open_max;
    tenant.tokens_per_request_max = 100;
    e.tenants = {tenant};
    e.requests_open_max = 100;
    take(e);
  }

  std::string run(progress& at) {
    for (std::uint32_t i = 0; i < moves_max && broken_.empty(); ++i, ++at.steps)
      move();
    return broken_;
  }

private:
  struct node {
    std::uint64_t known = 0; ///< life that the router has heard of and not lost; 0: none
    std::uint64_t lives = 0;
  };
  struct old_life {
    std::uint32_t group, rank;
    std::uint64_t life;
  };

  std::uint32_t below(std::uint32_t bound) {
    return chance_.between(0, bound - 1);
  }
  static node_name node_of(std::uint32_t g, std::uint32_t r) {
    return {std::string(names[g]) + "." + std::to_string(r)};
  }
  static incarnation life_of(std::uint32_t g, std::uint32_t r, std::uint64_t life) {
    return life == 0 ? incarnation{} : incarnation{1 + g * ranks + r, life};
  }
  bool whole(std::uint32_t g) const {
    return std::all_of(std::begin(nodes_[g]), std::end(nodes_[g]),
                       [](const node& n) { return n.known != 0; });
  }

  void move() {
    switch (below(6)) {
    case 0:
    case 1: join(below(groups), below(ranks)); break;
    case 2: lose(); break;
    case 3: place(); break;
    case 4: arrive(); break;
    default: leave(); break;
    }
  }

  /// A node comes up: for the first time, or again with its loss on the way.
  void join(std::uint32_t g, std::uint32_t r) {
    node& n = nodes_[g][r];
    if (n.known != 0)
      ending_.push_back({g, r, n.known});
    const bool restarted = n.known != 0;
    n.known = ++n.lives;
    take(node_joined{node_of(g, r), {names[g]}, {static_cast<std::uint16_t>(r)},
                     life_of(g, r, n.known)});
    expect_lost(restarted ? names[g] : "");
  }

  /// A loss is noticed: of a life that has been replaced already, or of the present one.
  void lose() {
    const std::uint32_t g = below(groups), r = below(ranks);
    old_life lost{g, r, nodes_[g][r].known};
    if (!ending_.empty() && below(2) == 0) {
      lost = ending_.front();
      ending_.erase(ending_.begin());
    }
    if (lost.life == 0)
      return;
    const bool present = nodes_[lost.group][lost.rank].known == lost.life;
    if (present)
      nodes_[lost.group][lost.rank].known = 0;
    take(node_lost{node_of(lost.group, lost.rank), life_of(lost.group, lost.rank, lost.life),
                   {reason::peer_lost, "no heartbeat"}});
    expect_lost(present ? names[lost.group] : "");
  }

  void place() {
    const attempt_id id{{1, ++attempts_}, 1, {1}};
    if (trace_ != nullptr)
      return at_attempt(id, start_attempt{id, {}, 0}); // which asks for a place itself
    take(place_attempt{id, {}});
    const bool possible = whole(0) && (whole(1) || whole(2));
    if (possible != placed_.has_value())
      return breach(possible ? "an attempt finds no place in a whole cluster"
                             : "an attempt is placed on a group that misses a rank");
    if (!possible)
      return;
    const std::uint32_t g = placed_->source.group.value == names[1] ? 1 : 2;
    for (std::uint32_t r = 0; r < ranks; ++r)
      if (placed_->source.ranks.at(r) != life_of(g, r, nodes_[g][r].known))
        breach("an attempt is placed on a life that is over");
  }

  void arrive() {
    request_spec spec;
    spec.tenant = {"tenant-1"};
    spec.prompt_tokens = 9;
    spec.output_tokens = 3;
    const request_id id{2, ++requests_};
    take(request_arrived{id, spec});
    const bool possible = open_.size() < open_max;
    if (possible != admitted_)
      return breach(possible ? "a tenant with room is refused" : "a tenant is over its limit");
    if (possible)
      open_.insert(id);
  }

  void leave() {
    if (open_.empty())
      return;
    const request_id id = *open_.begin();
    open_.erase(open_.begin());
    take(request_gone{id});
  }

  void take(const membership::event& e) {
    placed_.reset();
    admitted_ = false;
    lost_.clear();
    const char* before = name_of(state_);
    auto result = membership::step(std::move(state_), e, {});
    state_ = std::move(result.state);
    if (trace_ != nullptr)
      tell(e, before, result.effects);
    for (const auto& effect : result.effects) {
      if (const auto* placed = std::get_if<attempt_placed>(&effect))
        placed_ = *placed;
      admitted_ = admitted_ || std::holds_alternative<request_admitted>(effect);
      if (const auto* lost = std::get_if<group_lost>(&effect))
        lost_.insert(lost->group.value);
    }
  }

  // -- where there is a trace: the attempts, as the router's node would record them

  using membership_effects = std::vector<membership::effect>;
  void tell(const membership::event& e, const char* before, const membership_effects& effects) {
    trace_->handled("membership",
                    {std::visit([](const auto& x) { return std::decay_t<decltype(x)>::type; }, e),
                     tests::json_of(e), before, name_of(state_), tests::names_of(effects)},
                    {});
    for (const auto& effect : effects)
      std::visit(overloaded{
                   [&](const attempt_placed& x) { at_attempt(x.attempt, x); },
                   [&](const place_refused& x) { at_attempt(x.attempt, x); },
                   [&](const group_lost& x) {
                     const auto all = placed_attempts_; // some end
                     for (const auto& [id, state] : all)
                       at_attempt(id, x);
                   },
                   [](const auto&) {},
                 },
                 effect);
    trace_->ends_handling();
  }
  void at_attempt(const attempt_id& id, const attempt::event& e) {
    auto& state = placed_attempts_[id];
    const char* before = name_of(state);
    auto result = attempt::step(std::move(state), e, {});
    state = std::move(result.state);
    trace_->handled("attempt " + std::to_string(id.request.low),
                    {std::visit([](const auto& x) { return std::decay_t<decltype(x)>::type; }, e),
                     tests::json_of(e), before, name_of(state), tests::names_of(result.effects)},
                    {});
    for (const auto& effect : result.effects)
      std::visit(overloaded{
                   [&](const place_attempt& x) { take(x); },
                   [&](const attempt_drained& x) {
                     placed_attempts_.erase(id);
                     take(x);
                   },
                   [](const auto&) {},
                 },
                 effect);
    trace_->ends_handling();
  }

  void expect_lost(const std::string& group) {
    const std::set<std::string> wanted = group.empty() ? std::set<std::string>{}
                                                       : std::set<std::string>{group};
    if (lost_ != wanted)
      breach(group.empty() ? "a group is said to be lost that is not"
                           : "the attempts of a lost group are not told");
  }

  void breach(const std::string& sentence) {
    if (broken_.empty() && trace_ == nullptr) // where there is a trace, that is the judge
      broken_ = sentence;
  }

  splitmix chance_;
  tests::conversation_trace* trace_ = nullptr;
  membership::state state_;
  std::map<attempt_id, attempt::state> placed_attempts_; ///< where there is a trace
  node nodes_[groups][ranks];
  std::vector<old_life> ending_; ///< their loss is still to be noticed
  std::set<request_id> open_;
  std::uint64_t attempts_ = 0, requests_ = 0;
  std::optional<attempt_placed> placed_; ///< of the last event
  bool admitted_ = false;
  std::set<std::string> lost_;
  std::string broken_;
};

std::string members_at_random(progress& at) {
  for (std::uint64_t seed = 0; seed < seeds_max; ++seed) {
    ++at.tries;
    at.steps = 0;
    const std::string what = cluster_world(seed).run(at);
    if (!what.empty())
      return what;
  }
  return "";
}

} // namespace

void play_members(std::uint64_t seed, tests::conversation_trace& trace) {
  progress unseen;
  static_cast<void>(cluster_world(seed, &trace).run(unseen));
}

std::vector<driver> member_drivers() {
  return {{"members", "the router's membership while nodes come, go and come back",
           members_at_random}};
}

} // namespace baton::mutants
