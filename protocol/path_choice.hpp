// Which path a cluster takes whose file says "measured": what can be taken at all, what that was
// measured to give, and which one follows from both.
//
//   paths_to_measure ──measured by whoever starts the nodes──▶ choose_path
#pragma once

#include "protocol/cluster_config.hpp"

namespace baton::protocol {

/// Each path that could be taken, cheapest kind first, with `refused` where the cluster rules it
/// out: in place, shared arena, and pull over each transport that the file allows. Rates are 0.
std::vector<path_cost> paths_to_measure(const cluster_config& config);

/// Index of the path to take: the preferred one where it can be, over its fastest transport;
/// otherwise one that moves nothing, otherwise the one of the highest rate. None when all are
/// refused.
std::optional<std::size_t> choose_path(const std::vector<path_cost>& costs,
                                       const std::optional<hand_off_path>& prefer);

/// What UCX_TLS is narrowed to; "" where UCX may choose among all that are allowed.
const char* ucx_tls_for(ucx_transport required);

/// "", or why a channel is not what was asked for; `found` is what UCX says that it uses, such as
/// "pull posix/cma" (its error mode may have dropped the others silently).
std::string wrong_transport(ucx_transport asked, const std::string& found);

/// For people: "pull over tcp".
std::string name_of(hand_off_path path, ucx_transport transport);
/// For people: "pull over tcp 2.91 GB/s", "in_place (nothing moves)", "in_place: …why not".
std::string to_text(const path_cost& cost);

/// The path, and what it was chosen by where it was; one line for people.
std::string path_text(const cluster_config& config);

} // namespace baton::protocol
