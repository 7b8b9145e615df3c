// UCX reads part of its settings in a library constructor, before main(): whoever starts a node
// process must put these into its environment before exec.
#pragma once

#include "protocol/outcome.hpp"

#include <string>
#include <vector>

namespace baton::transport {

/// NAME=VALUE lines. They leave signal handlers and libc's memory functions alone, keep shared
/// memory and CMA in use although errors of peers are reported, and notice a dead peer within 1 s.
/// UCX_TLS may be narrowed to "tcp" (hosts that share nothing) or "posix" (no process reads
/// another's memory), and UCX_NET_DEVICES may be one other interface than the loopback; both must
/// be set.
std::vector<std::string> ucx_environment();

/// Puts them into this process's environment, for the programs that it starts; UCX_NET_DEVICES is
/// the interface that has the IPv4 address `host`, so that no other is listened on; UCX_TLS is
/// `narrowed_to`, where that is not "".
void set_ucx_environment(const std::string& host = "127.0.0.1",
                         const std::string& narrowed_to = "");

/// Compares with the environment that this process was started with; setenv() since then does not
/// count. Errors: bad_input naming the first variable that is missing or different.
protocol::failure check_ucx_environment();

} // namespace baton::transport
