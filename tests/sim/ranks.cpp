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
  const auto& event = known_->event<kind::lane>(m.event);
  std::uint32_t& id = floor_of(address::unpacked(m.to));
  lane_floor floor;
  const auto meet = [&]() -> std::optional<lane_stopped> {
    floor = known_->floor_at(id);
    if (const auto* open = std::get_if<open_lane>(&event))
      return meet_absent(floor, *open);
    return meet_absent(floor, std::get<stop_lane>(event));
  };
  if (!std::holds_alternative<open_lane>(event) && !std::holds_alternative<stop_lane>(event))
    return; // nobody is here whom it concerns
  const std::uint32_t answer = known_->look_up(follows::lane_answer, id, m.event, [&] {
    const auto stopped = meet();
    return stopped ? known_->put_event<kind::reservation>(*stopped) + 1 : 0;
  });
  id = known_->look_up(follows::lane_floor, id, m.event, [&] {
    static_cast<void>(meet());
    return known_->put_floor(floor);
  });
  if (answer != 0)
    tell(m.to, m.from, kind::reservation, answer - 1);
  else
    begin(m);
}

void world::at_feed_rank(const mail& m) {
  const auto& event = known_->event<kind::feed>(m.event);
  std::uint32_t& id = floor_of(address::unpacked(m.to));
  lane_floor floor;
  const auto meet = [&]() -> std::optional<feed_ending> {
    floor = known_->floor_at(id);
    if (const auto* open = std::get_if<open_feed>(&event))
      return meet_absent(floor, *open);
    if (const auto* ask = std::get_if<ask_feed>(&event))
      return meet_absent(floor, *ask);
    return meet_absent(floor, std::get<withdraw_feed>(event));
  };
  if (!std::holds_alternative<open_feed>(event) && !std::holds_alternative<ask_feed>(event)
      && !std::holds_alternative<withdraw_feed>(event))
    return;
  const std::uint32_t answer = known_->look_up(follows::feed_answer, id, m.event, [&] {
    const auto ended = meet();
    const auto word = [](const auto& e) { return source_hold::event{e}; };
    return ended ? known_->put_event<kind::hold>(std::visit(word, *ended)) + 1 : 0;
  });
  id = known_->look_up(follows::feed_floor, id, m.event, [&] {
    static_cast<void>(meet());
    return known_->put_floor(floor);
  });
  if (is_mapped())
    meet_feed(m, answer);
  if (answer != 0) {
    tell(m.to, m.from, kind::hold, answer - 1);
    return;
  }
  begin(m);
  if (const party* feed = find(m.to))
    watch_sequence(*feed);
}

} // namespace baton::sim
