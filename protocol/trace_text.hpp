// Records as people read them: one line each, without the private and the long.
#pragma once

#include "protocol/trace_record.hpp"

#include <string>

namespace baton::protocol {

/// The fields of a message that tell it from others of its type, as "lane 5:0->1 piece 3": lists as
/// their length, no tokens, no request_spec.
std::string salient_fields(const json& event);

/// "   12.345 ms  router:attempt/a1.1 -> D3.0:reservation/5  commit  complete -> live". The time is
/// the handling's, after origin_ns.
std::string describe(const trace_record& record, const std::string& node, std::int64_t origin_ns);

/// Milliseconds with three decimals.
std::string ms_text(std::int64_t ns);

} // namespace baton::protocol
