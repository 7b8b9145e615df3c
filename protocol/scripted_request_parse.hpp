// One element of a script's requests.
#pragma once

#include "protocol/json_object.hpp"
#include "protocol/scripted_request.hpp"

namespace baton::protocol {

inline constexpr json_word<outcome_kind> outcome_words[] = {
  {"completed", outcome_kind::completed}, {"failed", outcome_kind::failed},
  {"cancelled", outcome_kind::cancelled}, {"interrupted", outcome_kind::interrupted},
  {"refused", outcome_kind::refused},
};

/// Reads a request; the caller finishes the object.
scripted_request read_request(json_object& from);

} // namespace baton::protocol
