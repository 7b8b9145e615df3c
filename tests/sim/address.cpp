#include "tests/sim/address.hpp"

namespace baton::sim {

using namespace protocol;

namespace {
std::uint16_t number_of(std::uint64_t n) { return static_cast<std::uint16_t>(n); }
std::uint8_t rank_of(rank_id r) { return static_cast<std::uint8_t>(r.value); }
} // namespace

node node_of(const address& a) {
  switch (a.what) {
  case kind::request:
  case kind::attempt: return {0};
  case kind::lane: return rank_node(a.home.group, a.destination);
  case kind::feed: return rank_node(a.home.group, a.source);
  default: return rank_node(a.home.group, 0);
  }
}

std::string group_text(group_life g, std::uint8_t prefill_groups) {
  const bool decode = g.group >= prefill_groups;
  const int number = decode ? g.group - prefill_groups : g.group;
  std::string text = (decode ? "D" : "P") + std::to_string(number);
  for (std::uint8_t i = 0; i < g.life; ++i)
    text += "'";
  return text;
}

std::string to_string(const address& a, std::uint8_t prefill_groups) {
  const std::string group = group_text(a.home, prefill_groups);
  const std::string number = std::to_string(a.number);
  const std::string ranks
    = " " + std::to_string(a.source) + ">" + std::to_string(a.destination);
  switch (a.what) {
  case kind::request: return "request " + std::to_string(a.number + 1);
  case kind::attempt:
    return "attempt " + std::to_string(a.number / 8 + 1) + "/" + std::to_string(a.number % 8);
  case kind::pool: return "pool " + group;
  case kind::reservation: return "reservation " + group + "/" + number;
  case kind::hold: return "hold " + group + "/" + number;
  case kind::lane: return "lane " + group + "/" + number + ranks;
  case kind::feed:
    return "feed " + group + " of " + group_text(a.peer, prefill_groups) + "/" + number + ranks;
  }
  return "?";
}

incarnation life_of(group_life g, std::uint8_t rank) {
  return {g.group + 1ULL, g.life * 8ULL + rank + 1};
}
group_life group_life_of(const incarnation& life) {
  return {static_cast<std::uint8_t>(life.high - 1), static_cast<std::uint8_t>((life.low - 1) / 8)};
}

address attempt_address(const attempt_id& id) {
  return {kind::attempt, {}, number_of(index_of(id.request) * 8U + id.ordinal), 0, 0, {}};
}
address request_address(const request_id& id) {
  return {kind::request, {}, index_of(id), 0, 0, {}};
}
address reservation_address(const reservation_id& id) {
  return {kind::reservation, group_life_of(id.owner), number_of(id.number), 0, 0, {}};
}
address hold_address(const reservation_id& id) {
  return {kind::hold, group_life_of(id.owner), number_of(id.number), 0, 0, {}};
}
address lane_address(const lane_id& id) {
  return {kind::lane,          group_life_of(id.reservation.owner),
          number_of(id.reservation.number), rank_of(id.source),
          rank_of(id.destination), {}};
}
address feed_address(const lane_id& id, group_life source) {
  return {kind::feed,      source,
          number_of(id.reservation.number), rank_of(id.source),
          rank_of(id.destination), group_life_of(id.reservation.owner)};
}

} // namespace baton::sim
