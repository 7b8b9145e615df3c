// A rank's transfer device as it meets words for lanes and feeds that it may not know: as
// actors/transfer_device does, with the same lane_floor.
#include "tests/sim/world.hpp"

namespace baton::sim {

using namespace protocol;

/// Of the rank where a lane or feed lives. A group's ranks have one floor each: a decode group's
/// for its lanes, a prefill group's for its feeds.
std::uint32_t& world::floor_of(const address& a) {
  const std::uint8_t rank = a.what == kind::lane ? a.destination : a.source;
  return floors_[a.home.group * std::size_t{4} + rank];
}

void world::at_lane_rank(const mail& m) {
  std::uint32_t& id = floor_of(address::unpacked(m.to));
  lane_floor floor = known_->floor_at(id);
  const auto stopped = [&](const lane_id& lane) {
    tell(m.to, m.from, kind::reservation, known_->put_event<kind::reservation>(lane_stopped{lane}));
  };
  const auto& event = known_->event<kind::lane>(m.event);
  if (const auto* open = std::get_if<open_lane>(&event)) {
    const bool may = floor.may_begin(open->lane.source, open->blocks.front());
    id = known_->put_floor(floor);
    if (may)
      begin(m);
    else
      stopped(open->lane);
  } else if (const auto* stop = std::get_if<stop_lane>(&event)) {
    floor.forbid(stop->lane.source, stop->fence);
    id = known_->put_floor(floor);
    stopped(stop->lane);
  }
}

void world::say_how_ended(const mail& m, const lane_id& lane, const block_ref& fence) {
  const lane_floor& floor = known_->floor_at(floor_of(address::unpacked(m.to)));
  const source_hold::event word
    = floor.was_received(lane.destination, fence)
        ? source_hold::event{feed_received{lane}}
        : source_hold::event{feed_stopped{lane, {reason::cancelled, "the feed has ended"}}};
  tell(m.to, m.from, kind::hold, known_->put_event<kind::hold>(word));
}

void world::at_feed_rank(const mail& m) {
  std::uint32_t& id = floor_of(address::unpacked(m.to));
  lane_floor floor = known_->floor_at(id);
  const auto& event = known_->event<kind::feed>(m.event);
  if (const auto* open = std::get_if<open_feed>(&event)) {
    const lane_id lane = open->lane;
    const block_ref fence = open->source_blocks.front();
    const bool may = floor.may_begin(lane.destination, fence);
    id = known_->put_floor(floor);
    if (!may) {
      say_how_ended(m, lane, fence);
      return;
    }
    begin(m);
    if (const party* feed = find(m.to))
      watch_sequence(*feed);
  } else if (const auto* ask = std::get_if<ask_feed>(&event)) {
    say_how_ended(m, ask->lane, ask->fence);
  } else if (const auto* withdraw = std::get_if<withdraw_feed>(&event)) {
    const lane_id lane = withdraw->lane;
    const block_ref fence = withdraw->fence;
    floor.forbid(lane.destination, fence);
    id = known_->put_floor(floor);
    say_how_ended(m, lane, fence);
  }
}

} // namespace baton::sim
