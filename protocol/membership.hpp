// What the router knows of the cluster: which nodes live, which groups are whole, where attempts
// are, and which tenants may ask for more.
//
//   node:   expected ──node_joined──▶ joined ──node_lost──▶ lost ──node_joined (new life)──▶ joined
//   group:  whole while every one of its ranks is joined; its loss is told to every attempt on it
#pragma once

#include "protocol/attempt.hpp"
#include "protocol/clock.hpp"
#include "protocol/cluster_config.hpp"
#include "protocol/step.hpp"

#include <map>
#include <variant>

namespace baton::protocol {

struct group_entry {
  group_name name;
  group_role role = group_role::mixed;
  std::uint32_t ranks = 0;

  static constexpr const char* type = "group_entry";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("name", s.name), field("role", s.role), field("ranks", s.ranks));
  }
};

struct tenant_entry {
  tenant_name name;
  std::uint32_t requests_open_max = 0;
  std::uint32_t tokens_per_request_max = 0; ///< prompt and output budget of one request

  static constexpr const char* type = "tenant_entry";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("name", s.name), field("requests_open_max", s.requests_open_max),
                           field("tokens_per_request_max", s.tokens_per_request_max));
  }
};

/// First event: what the cluster file says.
struct expect_cluster {
  std::vector<group_entry> groups;
  std::vector<tenant_entry> tenants;
  std::uint32_t requests_open_max = 0;

  static constexpr const char* type = "expect_cluster";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("groups", s.groups), field("tenants", s.tenants),
                           field("requests_open_max", s.requests_open_max));
  }
};

/// A rank's node is up, knows its peers and can take work.
struct node_joined {
  node_name node;
  group_name group;
  rank_id rank;
  incarnation life;

  static constexpr const char* type = "node_joined";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("node", s.node), field("group", s.group), field("rank", s.rank),
                           field("life", s.life));
  }
};

struct node_lost {
  node_name node;
  incarnation life;
  failure why;

  static constexpr const char* type = "node_lost";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("node", s.node), field("life", s.life), field("why", s.why));
  }
};

/// Boundary 0: may this request enter at all?
struct request_arrived {
  request_id request;
  request_spec spec;

  static constexpr const char* type = "request_arrived";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("request", s.request), field("spec", s.spec));
  }
};

struct request_admitted {
  request_id request;
  external_id external;

  static constexpr const char* type = "request_admitted";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("request", s.request), field("external", s.external));
  }
};

struct request_refused {
  request_id request;
  external_id external;
  failure why;

  static constexpr const char* type = "request_refused";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("request", s.request), field("external", s.external),
                           field("why", s.why));
  }
};

/// A request's actor has ended: its tenant's share is free again.
struct request_gone {
  request_id request;

  static constexpr const char* type = "request_gone";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("request", s.request));
  }
};

/// Effect: every group is whole for the first time.
struct cluster_formed {
  static constexpr const char* type = "cluster_formed";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

namespace membership {

struct group_state {
  group_entry entry;
  std::vector<incarnation> lives; ///< by rank; zero: not joined
  std::uint32_t attempts = 0;     ///< placed here and not drained
};

struct state {
  std::map<group_name, group_state> groups;
  std::map<tenant_name, tenant_entry> tenants;
  std::map<tenant_name, std::uint32_t> open_by_tenant;
  std::map<request_id, tenant_name> open;
  std::map<attempt_id, attempt_placed> placed;
  std::uint32_t requests_open_max = 0;
  bool formed = false;
};

using event = std::variant<expect_cluster, node_joined, node_lost, request_arrived, request_gone,
                           place_attempt, attempt_drained>;
using effect = std::variant<request_admitted, request_refused, attempt_placed, place_refused,
                            group_lost, cluster_formed>;
using step_result = stepped<state, effect>;

/// Total: every event is legal in every state. Only the first expect_cluster is heard.
[[nodiscard]] step_result step(state before, const event& event, instant now);

const char* name_of(const state& s);

/// Joined ranks and expected ranks of all groups.
std::pair<std::uint32_t, std::uint32_t> ranks_joined(const state& s);

} // namespace membership
} // namespace baton::protocol
