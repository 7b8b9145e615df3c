// How a rank begins and ends lanes and feeds, as its transfer device does.
#include "tests/protocol/conversation_mail.hpp"

namespace baton::tests {

using namespace protocol;

namespace {

std::string text(const lane_id& lane) {
  return std::to_string(lane.reservation.number) + ":" + std::to_string(lane.source.value) + ":"
         + std::to_string(lane.destination.value);
}

template <class Parties>
auto* living(Parties& parties, const lane_id& lane) {
  const auto it = parties.find(lane);
  return it == parties.end() || it->second.ended ? nullptr : &it->second;
}

} // namespace

// ---- destination

template <class Event>
void conversation::to_lane_rank(reservation_party& from, const Event& event) {
  send_far(from.name, "rank D3." + std::to_string(event.lane.destination.value), event.type,
           [this, event] { take_at_rank(event); });
}
template void conversation::to_lane_rank(reservation_party&, const open_lane&);
template void conversation::to_lane_rank(reservation_party&, const ask_lane&);
template void conversation::to_lane_rank(reservation_party&, const stop_lane&);

void conversation::take_at_rank(const open_lane& e) {
  if (auto* lane = living(lanes_, e.lane))
    return take(*lane, e);
  if (const auto stopped = meet_absent(lane_floors_[e.lane.destination], e))
    return tell_far("rank", reservations_.at(e.lane.reservation.number), *stopped);
  if (lanes_.count(e.lane) > 0)
    breach("a lane begins twice");
  lane_party& lane = lanes_[e.lane];
  lane.name = "lane " + text(e.lane);
  lane.opened = e;
  take(lane, e);
}

void conversation::take_at_rank(const ask_lane& e) {
  if (auto* lane = living(lanes_, e.lane))
    take(*lane, e);
}

void conversation::take_at_rank(const stop_lane& e) {
  if (auto* lane = living(lanes_, e.lane))
    return take(*lane, e);
  tell_far("rank", reservations_.at(e.lane.reservation.number),
           meet_absent(lane_floors_[e.lane.destination], e));
}

// ---- source

template <class Event>
void conversation::to_feed_rank(hold_party& from, const Event& event) {
  send_far(from.name, "rank P7." + std::to_string(event.lane.source.value), event.type,
           [this, &from, event] { take_at_rank(from, event); });
}
template void conversation::to_feed_rank(hold_party&, const open_feed&);
template void conversation::to_feed_rank(hold_party&, const ask_feed&);
template void conversation::to_feed_rank(hold_party&, const withdraw_feed&);

void conversation::say(hold_party& to, const feed_ending& ended) {
  std::visit([&](const auto& word) { tell_far("rank", to, word); }, ended);
}

void conversation::take_at_rank(hold_party& from, const open_feed& e) {
  if (auto* feed = living(feeds_, e.lane))
    return take(*feed, e);
  if (const auto ended = meet_absent(feed_floors_[e.lane.source], e))
    return say(from, *ended);
  if (feeds_.count(e.lane) > 0)
    breach("a feed begins twice");
  feed_party& feed = feeds_[e.lane];
  feed.name = "feed " + text(e.lane);
  feed.opened = e;
  if (e.mapped)
    writers_[e.lane.source].begin(e);
  take(feed, e);
  watch(feed);
}

void conversation::take_at_rank(hold_party& from, const ask_feed& e) {
  if (auto* feed = living(feeds_, e.lane))
    take(*feed, e);
  else
    say(from, meet_absent(feed_floors_[e.lane.source], e));
}

void conversation::take_at_rank(hold_party& from, const withdraw_feed& e) {
  if (auto* feed = living(feeds_, e.lane))
    return take(*feed, e);
  say(from, meet_absent(feed_floors_[e.lane.source], e));
}

} // namespace baton::tests
