#include "protocol/path_choice.hpp"

#include "protocol/cluster_config_check.hpp"

#include <cstdio>

namespace baton::protocol {

namespace {

bool names(const std::string& found, const char* transport) {
  return found.find(transport) != std::string::npos;
}

/// True when a is to be taken rather than b, of two that can be.
bool is_cheaper(const path_cost& a, const path_cost& b) {
  const bool a_moves = a.path != hand_off_path::in_place;
  const bool b_moves = b.path != hand_off_path::in_place;
  return a_moves == b_moves ? a.bytes_per_s > b.bytes_per_s : b_moves;
}

std::optional<std::size_t> cheapest(const std::vector<path_cost>& costs,
                                    const std::optional<hand_off_path>& only) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const bool can_be = costs[i].refused.empty() && (!only || costs[i].path == *only);
    if (can_be && (!best || is_cheaper(costs[i], costs[*best])))
      best = i;
  }
  return best;
}

} // namespace

std::vector<path_cost> paths_to_measure(const cluster_config& config) {
  std::vector<path_cost> all;
  for (const auto path : {hand_off_path::in_place, hand_off_path::shared_arena})
    all.push_back({path, config.transport, 0, cannot_take(config, path)});
  for (const auto over : {ucx_transport::cma, ucx_transport::shared_memory, ucx_transport::tcp})
    if (config.transport == ucx_transport::any || config.transport == over)
      all.push_back({hand_off_path::pull, over, 0, cannot_take(config, hand_off_path::pull)});
  return all;
}

std::optional<std::size_t> choose_path(const std::vector<path_cost>& costs,
                                       const std::optional<hand_off_path>& prefer) {
  const auto preferred = prefer ? cheapest(costs, prefer) : std::nullopt;
  return preferred ? preferred : cheapest(costs, std::nullopt);
}

const char* ucx_tls_for(ucx_transport required) {
  switch (required) {
  case ucx_transport::tcp: return "tcp";
  case ucx_transport::shared_memory: return "posix";
  case ucx_transport::any:
  case ucx_transport::cma: break;
  }
  return ""; // CMA alone cannot carry messages
}

std::string wrong_transport(ucx_transport asked, const std::string& found) {
  const bool right = asked == ucx_transport::any
                     || (asked == ucx_transport::cma && names(found, "cma"))
                     || (asked == ucx_transport::shared_memory && names(found, "posix")
                         && !names(found, "cma") && !names(found, "tcp"))
                     || (asked == ucx_transport::tcp && names(found, "tcp")
                         && !names(found, "posix") && !names(found, "cma"));
  if (right)
    return "";
  return std::string("transport: ") + to_string(asked) + " is required, UCX uses \"" + found
         + "\" (the host may forbid it, or an UCX_* variable drops it)";
}

std::string name_of(hand_off_path path, ucx_transport transport) {
  std::string text = to_string(path);
  if (path == hand_off_path::pull && transport != ucx_transport::any)
    text += std::string(" over ") + to_string(transport);
  return text;
}

std::string to_text(const path_cost& cost) {
  std::string text = name_of(cost.path, cost.transport);
  if (!cost.refused.empty())
    return text + ": " + cost.refused;
  if (cost.path == hand_off_path::in_place)
    return text + " (nothing moves)";
  char rate[32];
  std::snprintf(rate, sizeof rate, " %.2f GB/s", static_cast<double>(cost.bytes_per_s) / 1e9);
  return text + rate;
}

std::string path_text(const cluster_config& config) {
  std::string text = name_of(config.path, config.transport);
  if (config.path_costs.empty())
    return text + ", as required";
  if (config.prefer && *config.prefer != config.path)
    text += std::string(", for ") + to_string(*config.prefer) + " is preferred and cannot be taken";
  text += config.prefer == config.path ? ", as preferred; measured: " : "; measured: ";
  std::string sep;
  for (const path_cost& cost : config.path_costs) {
    text += sep + to_text(cost);
    sep = "; ";
  }
  return text;
}

} // namespace baton::protocol
