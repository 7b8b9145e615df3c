// A rank's transfer device as it meets words for lanes and feeds that it does not know.
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
  const auto& event = known_->event<kind::lane>(m.event);
  std::optional<lane_stopped> stopped;
  const auto* open = std::get_if<open_lane>(&event);
  if (open != nullptr)
    stopped = meet_absent(floor, *open);
  else if (const auto* stop = std::get_if<stop_lane>(&event))
    stopped = meet_absent(floor, *stop);
  else
    return; // nobody is here whom it concerns
  id = known_->put_floor(floor);
  if (stopped)
    tell(m.to, m.from, kind::reservation, known_->put_event<kind::reservation>(*stopped));
  else
    begin(m);
}

void world::at_feed_rank(const mail& m) {
  std::uint32_t& id = floor_of(address::unpacked(m.to));
  lane_floor floor = known_->floor_at(id);
  const auto& event = known_->event<kind::feed>(m.event);
  std::optional<feed_ending> ended;
  if (const auto* open = std::get_if<open_feed>(&event))
    ended = meet_absent(floor, *open);
  else if (const auto* ask = std::get_if<ask_feed>(&event))
    ended = meet_absent(floor, *ask);
  else if (const auto* withdraw = std::get_if<withdraw_feed>(&event))
    ended = meet_absent(floor, *withdraw);
  else
    return;
  id = known_->put_floor(floor);
  if (ended) {
    const auto word
      = std::visit([](const auto& e) { return source_hold::event{e}; }, *ended);
    tell(m.to, m.from, kind::hold, known_->put_event<kind::hold>(word));
    return;
  }
  begin(m);
  if (const party* feed = find(m.to))
    watch_sequence(*feed);
}

} // namespace baton::sim
