#include "protocol/mapped_lanes.hpp"

namespace baton::protocol {

failure written_lanes::begin(const open_lane& opened) {
  entry& lane = lanes_[opened.lane];
  lane.opened = opened;
  for (const block_ref& ref : opened.blocks)
    if (replaced_.count(ref.block) > 0) {
      lane.writer_ended = true; // it has another page there, whenever it mapped this memory
      return {reason::unsupported, "block " + std::to_string(ref.block.value)
                                     + ": its pages were replaced, and are no longer shared"};
    }
  if (!may_write_no_more(opened.writer))
    return {};
  lane.writer_ended = true; // it writes nothing that anyone here reads
  return {reason::peer_lost, opened.source_node.value
                               + ": its process has ended, or was cut off from this memory"};
}

bool written_lanes::end_writer(entry& lane) {
  const bool news = !lane.writer_ended;
  lane.writer_ended = true;
  return news && lane.waits_since;
}

bool written_lanes::reader_ended(const lane_id& lane, instant now) {
  const auto it = lanes_.find(lane);
  if (it == lanes_.end())
    return true;
  if (!it->second.waits_since)
    it->second.waits_since = now;
  return it->second.writer_ended;
}

void written_lanes::unread(const lane_id& lane) {
  if (const auto it = lanes_.find(lane); it != lanes_.end())
    it->second.unread = true;
}

std::vector<lane_id> written_lanes::take(const writer_stopped& e) {
  const auto it = lanes_.find(e.lane);
  if (it == lanes_.end() || it->second.opened.writer != e.writer || !end_writer(it->second))
    return {};
  return {e.lane};
}

std::vector<lane_id> written_lanes::process_ended(const incarnation& life, process_end how) {
  if (how != process_end::collected)
    return {};
  ended_.insert(life);
  std::vector<lane_id> stopped;
  for (auto& [id, lane] : lanes_)
    if (lane.opened.writer == life && end_writer(lane))
      stopped.push_back(id);
  return stopped;
}

std::vector<lane_id> written_lanes::pages_replaced(const lane_id& lane) {
  const auto it = lanes_.find(lane);
  if (it == lanes_.end())
    return {};
  for (const block_ref& ref : it->second.opened.blocks)
    replaced_.insert(ref.block);
  ended_.insert(it->second.opened.writer); // new lanes of it are refused; others have old pages yet
  if (!end_writer(it->second))
    return {};
  return {lane};
}

std::vector<written_lanes::question> written_lanes::questions() const {
  std::vector<question> all;
  for (const auto& [id, lane] : lanes_)
    if (lane.waits_since && !lane.writer_ended)
      all.push_back({lane.opened.source_node, {id, lane.opened.attempt, lane.opened.hold}});
  return all;
}

std::vector<lane_id> written_lanes::overdue(instant now, std::int64_t wait_ms) const {
  std::vector<lane_id> all;
  for (const auto& [id, lane] : lanes_)
    if (lane.unread && lane.waits_since && !lane.writer_ended
        && ms_between(*lane.waits_since, now) >= wait_ms)
      all.push_back(id);
  return all;
}

void lane_writers::begin(const open_feed& opened) {
  entry& lane = lanes_[opened.lane];
  lane.attempt = opened.attempt;
  lane.destination = opened.destination_node;
  lane.sequence = opened.sequence;
}

bool lane_writers::ask(const ask_writer& e, const node_name& destination) {
  entry& lane = lanes_[e.lane];
  const bool again = lane.hold.has_value();
  lane.attempt = e.attempt;
  lane.destination = destination;
  lane.hold = e.hold;
  return again || !lane.sequence;
}

template <class Predicate>
std::vector<lane_writers::said> lane_writers::take_if(Predicate ended) {
  std::vector<said> all;
  for (auto it = lanes_.begin(); it != lanes_.end();)
    if (ended(it->second)) {
      all.push_back({it->second.destination, it->first});
      it = lanes_.erase(it);
    } else {
      ++it;
    }
  return all;
}

std::vector<lane_writers::said> lane_writers::take(const sequence_ended& e) {
  return take_if([&](const entry& lane) { return lane.sequence == e.sequence; });
}

bool lane_writers::hold_gone(const reservation_id& hold) {
  bool any = false;
  for (auto& [id, lane] : lanes_)
    if (lane.hold == hold)
      any = lane.hold_is_gone = true;
  return any;
}

std::vector<lane_writers::said> lane_writers::take(const writing_ended& e) {
  return take_if(
    [&](const entry& lane) { return lane.hold_is_gone && lane.attempt == e.attempt; });
}

} // namespace baton::protocol
