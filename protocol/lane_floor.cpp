#include "protocol/lane_floor.hpp"

namespace baton::protocol {

namespace {

feed_ending how_ended(const lane_floor& feeds, const lane_id& lane, const block_ref& fence) {
  if (feeds.was_received(reader_of(lane), fence))
    return feed_received{lane};
  return feed_stopped{lane, {reason::cancelled, "the feed has ended"}};
}

} // namespace

bool lane_floor::may_begin(const lane_peer& peer, const block_ref& fence) {
  entry& floor = floors_[{peer, fence.block}];
  if (!(floor.highest < fence.gen))
    return false;
  floor = {fence.gen, false};
  return true;
}

void lane_floor::forbid(const lane_peer& peer, const block_ref& fence) {
  static_cast<void>(may_begin(peer, fence));
}

void lane_floor::note_received(const lane_peer& peer, const block_ref& fence) {
  entry& floor = floors_[{peer, fence.block}];
  if (floor.highest == fence.gen)
    floor.received = true;
}

bool lane_floor::was_received(const lane_peer& peer, const block_ref& fence) const {
  const auto it = floors_.find({peer, fence.block});
  return it != floors_.end() && it->second.highest == fence.gen && it->second.received;
}

std::optional<lane_stopped> meet_absent(lane_floor& lanes, const open_lane& asked) {
  if (lanes.may_begin(writer_of(asked.lane), asked.blocks.front()))
    return {};
  return lane_stopped{asked.lane};
}

lane_stopped meet_absent(lane_floor& lanes, const stop_lane& asked) {
  lanes.forbid(writer_of(asked.lane), asked.fence); // its open_lane may still be on the way
  return {asked.lane};
}

std::optional<feed_ending> meet_absent(lane_floor& feeds, const open_feed& asked) {
  const block_ref& fence = asked.source_blocks.front();
  if (feeds.may_begin(reader_of(asked.lane), fence))
    return {};
  return how_ended(feeds, asked.lane, fence);
}

feed_ending meet_absent(lane_floor& feeds, const withdraw_feed& asked) {
  feeds.forbid(reader_of(asked.lane), asked.fence); // its open_feed may still be on the way
  return how_ended(feeds, asked.lane, asked.fence);
}

feed_ending meet_absent(lane_floor& feeds, const ask_feed& asked) {
  feeds.forbid(reader_of(asked.lane), asked.fence); // what has ended shall not begin afterwards
  return how_ended(feeds, asked.lane, asked.fence);
}

} // namespace baton::protocol
