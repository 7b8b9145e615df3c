// Endpoints of different processes, over UCX. `pull`: active-message rendezvous, which the
// destination completes into its own memory. `shared_arena`: the same channel for small messages,
// but the destination copies pieces from the source's memory, mapped read-only (one host only).
#pragma once

#include "transport/arena.hpp"
#include "transport/digest.hpp"
#include "transport/endpoint.hpp"
#include "transport/ucx_environment.hpp"

#include <memory>

namespace baton::transport {

/// `memory` must outlive the endpoint, and be shared for path_kind::shared_arena. Errors: bad_input
/// (limits, environment, path, a private arena), internal (UCX could not start).
protocol::outcome<std::unique_ptr<endpoint>> make_ucx(path_kind path, incarnation life,
                                                      arena& memory,
                                                      const endpoint_limits& limits,
                                                      transfer_sink sink,
                                                      integrity check = integrity::off);

} // namespace baton::transport
