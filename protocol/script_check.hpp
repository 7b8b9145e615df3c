// What a script must satisfy beyond each field's own range.
#pragma once

#include "protocol/json_object.hpp"
#include "protocol/script.hpp"

namespace baton::protocol {

/// Refuses repeated ids, too many requests, and comparisons with a request that does not exist.
void check_ids(const script& s, json_reading& reading);

} // namespace baton::protocol
