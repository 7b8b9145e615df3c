// Names of actors in traces: "kind/key", where the key is unique on the node.
#pragma once

#include "protocol/ids.hpp"

#include <string>

namespace baton::actors {

/// "lane/<reservation>:<source>-<destination>". The owner's life is in the node's own header.
inline std::string lane_label(const char* kind, const protocol::lane_id& id) {
  return std::string(kind) + "/" + std::to_string(id.reservation.number) + "@"
         + to_string(id.reservation.owner).substr(0, 6) + ":" + std::to_string(id.source.value)
         + "-" + std::to_string(id.destination.value);
}

/// "attempt/<first digits of the request>.<ordinal>".
inline std::string attempt_label(const protocol::attempt_id& id) {
  return "attempt/" + to_string(id.request).substr(0, 12) + "." + std::to_string(id.ordinal);
}

inline std::string request_label(const protocol::request_id& id) {
  return "request/" + to_string(id).substr(0, 12);
}

} // namespace baton::actors
