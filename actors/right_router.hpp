// Whether the router that answers at a run directory's port is the one of this run directory: the
// port may by now be another cluster's, of the same name and even of the same file.
#pragma once

#include "actors/device_messages.hpp"
#include "actors/node_context.hpp"
#include "protocol/outcome.hpp"

#include <string>

namespace baton::actors {

/// bad_input when it is of another cluster or of another start of it, internal when that node has
/// no router. `where`: host and port, for the text.
protocol::failure check_router(const node_context& asker, const std::string& where,
                               const protocol::router_is& said, const handle& router);

} // namespace baton::actors
