#include "protocol/lane_floor.hpp"

namespace baton::protocol {

bool lane_floor::may_begin(rank_id peer, const block_ref& fence) {
  entry& floor = floors_[{peer, fence.block}];
  if (!(floor.highest < fence.gen))
    return false;
  floor = {fence.gen, false};
  return true;
}

void lane_floor::forbid(rank_id peer, const block_ref& fence) {
  static_cast<void>(may_begin(peer, fence));
}

void lane_floor::note_received(rank_id peer, const block_ref& fence) {
  entry& floor = floors_[{peer, fence.block}];
  if (floor.highest == fence.gen)
    floor.received = true;
}

bool lane_floor::was_received(rank_id peer, const block_ref& fence) const {
  const auto it = floors_.find({peer, fence.block});
  return it != floors_.end() && it->second.highest == fence.gen && it->second.received;
}

} // namespace baton::protocol
