#include "protocol/messages_asked_again.hpp"

namespace baton::protocol {

const char* to_string(finish_reason r) {
  static const char* const names[] = {"none", "stop", "length"};
  return names[static_cast<int>(r)];
}

const char* to_string(outcome_kind k) {
  static const char* const names[] = {"completed", "failed", "cancelled", "interrupted", "refused"};
  return names[static_cast<int>(k)];
}

const char* to_string(attempt_phase p) {
  static const char* const names[] = {"placing",  "reserving", "prefilling", "handing_off",
                                      "decoding", "done",      "abandoned",  "drained"};
  return names[static_cast<int>(p)];
}

const char* to_string(hand_off_side side) {
  return side == hand_off_side::destination ? "destination" : "source";
}

} // namespace baton::protocol
