// What a finished run comes to: every expectation that failed, and the exit code.
#pragma once

#include "actors/client.hpp"
#include "actors/client_expect.hpp"
#include "actors/client_report.hpp"
#include "actors/trace_command.hpp"

#include <functional>
#include <ostream>

namespace baton::actors {

/// Reads the traces of the run; called only when the script asks for it and the cluster is idle.
using trace_checker = std::function<protocol::outcome<trace_verdict>()>;

/// Writes one line to `out` for each thing that went wrong, and what pools and trace have shown.
/// Exit codes as in run_command.hpp. Only a run that ended by itself is held against its script's
/// expectations.
run_verdict judge(const client_result& result, const protocol::script& script,
                  const token_files& files, const trace_checker& check_trace, std::ostream& out);

} // namespace baton::actors
