// Operating errors are values until they reach a person.
#pragma once

#include "protocol/fields.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace baton::protocol {

/// Why something did not happen. `none` means that it did.
enum class reason : std::uint8_t {
  none,
  bad_input,           ///< a file, script, frame or message is malformed: see the text
  not_permitted,       ///< the caller lacks a permission or is over its quota
  no_capacity,         ///< pool bytes
  no_slot,             ///< decode slots
  no_source_blocks,    ///< blocks for computing the prompt on the prefill side
  inflight_budget,     ///< bytes in flight on the node
  quarantine_budget,   ///< quarantine is full: fail closed
  deadline_infeasible, ///< the cost model says it cannot be done in time
  queue_full,          ///< a bounded queue is at its limit
  lease_expired,
  manifest_mismatch,
  stale_generation,
  stale_incarnation,
  stale_attempt,
  out_of_range,
  duplicate,
  corrupt, ///< integrity check failed: the text names the block
  peer_lost,
  group_poisoned,
  cancelled,
  deadline_passed,
  not_found,
  unsupported, ///< understood but not offered here
  shutting_down,
  internal,
};

const char* to_string(reason r);

/// A reason with the words for a person: which limit, what was needed, what was free.
struct failure {
  reason why = reason::none;
  std::string text;

  explicit operator bool() const { return why != reason::none; }

  static constexpr const char* type = "failure";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("why", s.why), field("text", s.text));
  }
};

/// Either a value or the failure that prevented it.
template <class T>
class outcome {
public:
  outcome(T value) : data_(std::move(value)) {}
  outcome(failure f) : data_(std::move(f)) {}

  bool ok() const { return data_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<0>(data_); }
  const T& value() const { return std::get<0>(data_); }
  const failure& error() const { return std::get<1>(data_); }

private:
  std::variant<T, failure> data_;
};

} // namespace baton::protocol
