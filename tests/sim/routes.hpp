// Where each effect goes: what the shells in actors/ do with it, said for the simulated cluster.
#pragma once

#include "tests/sim/catalogue.hpp"

namespace baton::sim {

struct route_context {
  catalogue& known;
  address self;
  std::vector<command>& out;
};

void route(const route_context& c, const protocol::request::effect& effect);
void route(const route_context& c, const protocol::attempt::effect& effect);
void route(const route_context& c, const protocol::pool::effect& effect);
void route(const route_context& c, const protocol::reservation::effect& effect);
void route(const route_context& c, const protocol::source_hold::effect& effect);
void route(const route_context& c, const protocol::lane::effect& effect);
void route(const route_context& c, const protocol::feed::effect& effect);

} // namespace baton::sim
