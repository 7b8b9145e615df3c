// Every identifier is its own type: a rank cannot be passed where a block is expected.
#pragma once

#include "protocol/fields.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace baton::protocol {

/// A number or name that only compares with its own kind.
template <class Tag, class Rep>
struct strong {
  using rep = Rep;
  Rep value{};

  friend bool operator==(const strong& a, const strong& b) { return a.value == b.value; }
  friend bool operator!=(const strong& a, const strong& b) { return a.value != b.value; }
  friend bool operator<(const strong& a, const strong& b) { return a.value < b.value; }
};

using block_id = strong<struct block_tag, std::uint32_t>;
/// How often a block has been granted; it only rises (I4).
using generation = strong<struct generation_tag, std::uint64_t>;
using rank_id = strong<struct rank_tag, std::uint16_t>;
/// A rank group's name in the cluster file, as "P7" or "D3".
using group_name = strong<struct group_tag, std::string>;
/// A node's name in the cluster file: "router", or group and rank as "P7.0".
using node_name = strong<struct node_tag, std::string>;
using tenant_name = strong<struct tenant_tag, std::string>;
/// The name a client gave its request; reusable after a terminal outcome.
using external_id = strong<struct external_tag, std::string>;
/// Rises each time the router restarts.
using router_epoch = strong<struct router_epoch_tag, std::uint64_t>;
/// Rises each time a rank group is rebuilt.
using group_epoch = strong<struct group_epoch_tag, std::uint64_t>;
/// Number of a step plan within a group's epoch.
using step_number = strong<struct step_tag, std::uint64_t>;

/// A sequence in one group's batch: given by the group's pool, never reused in an incarnation.
using sequence_id = strong<struct sequence_tag, std::uint64_t>;

/// 128 random bits; the default value (all zero) means "none".
template <class Tag>
struct random_id {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend bool operator==(const random_id& a, const random_id& b) {
    return a.high == b.high && a.low == b.low;
  }
  friend bool operator!=(const random_id& a, const random_id& b) { return !(a == b); }
  friend bool operator<(const random_id& a, const random_id& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  }
};

/// A request inside Baton: never reused, whatever its external id.
using request_id = random_id<struct request_tag>;
/// One life of one node process. CAF 0.17's own node id can repeat, so it is never used for this.
using incarnation = random_id<struct incarnation_tag>;

/// 32 hexadecimal digits, for traces and messages to people.
std::string to_hex(std::uint64_t high, std::uint64_t low);
template <class Tag>
std::string to_string(const random_id<Tag>& id) {
  return to_hex(id.high, id.low);
}
/// Reads to_hex's form back; false when `text` is not 32 hexadecimal digits.
bool from_hex(const std::string& text, std::uint64_t& high, std::uint64_t& low);

/// The only way to name memory.
struct block_ref {
  block_id block;
  generation gen;

  static constexpr const char* type = "block_ref";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("block", s.block), field("gen", s.gen));
  }
};

/// One try at a request. Issued by the router only.
struct attempt_id {
  request_id request;
  std::uint32_t ordinal = 0;
  router_epoch epoch;

  static constexpr const char* type = "attempt_id";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("request", s.request), field("ordinal", s.ordinal),
                           field("epoch", s.epoch));
  }
};

/// A grant of one destination group: unique across that group's lives by its incarnation.
struct reservation_id {
  incarnation owner;
  std::uint64_t number = 0;

  static constexpr const char* type = "reservation_id";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("owner", s.owner), field("number", s.number));
  }
};

/// One flow of bytes of one transfer, from one source rank to one destination rank.
struct lane_id {
  reservation_id reservation;
  rank_id source;
  rank_id destination;

  static constexpr const char* type = "lane_id";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("reservation", s.reservation), field("source", s.source),
                           field("destination", s.destination));
  }
};

bool operator<(const block_ref& a, const block_ref& b);
bool operator<(const attempt_id& a, const attempt_id& b);
bool operator<(const reservation_id& a, const reservation_id& b);
bool operator<(const lane_id& a, const lane_id& b);

} // namespace baton::protocol
