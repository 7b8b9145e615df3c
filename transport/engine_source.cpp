#include "transport/engine.hpp"
#include "transport/layout.hpp"

#include <algorithm>

namespace baton::transport {

using protocol::reason;

void engine::execute(offer_command& c) {
  const piece_offer& o = c.offer;
  if (failure f = check_bounds(o.where, setup_.memory->bytes())) {
    f.text = "offer: source " + f.text;
    emit(offer_rejected{o.lane, o.piece, std::move(f)});
    return;
  }
  enqueue(c.destination, {o.lane, o.piece, o.block, o.where, nullptr, 0, std::nullopt});
}

void engine::execute(payload_command& c) {
  if (c.bytes.empty() || c.bytes.size() > setup_.limits.payload_bytes_max) {
    emit(offer_rejected{c.lane, c.piece,
                        {reason::bad_input,
                         "payload: " + std::to_string(c.bytes.size()) + " bytes is not in 1.."
                           + std::to_string(setup_.limits.payload_bytes_max)}});
    return;
  }
  const strided where = contiguous(0, c.bytes.size());
  auto bytes = std::make_shared<std::vector<std::byte>>(std::move(c.bytes));
  enqueue(c.destination, {c.lane, c.piece, {}, where, std::move(bytes), 0, std::nullopt});
}

void engine::enqueue(const node_name& destination, queued_offer offer) {
  peer_record* peer = peer_named(destination);
  failure f;
  if (peer == nullptr)
    f = {reason::peer_lost, "offer: no channel to " + destination.value};
  else if (peer->queue.size() >= queued_offers_per_peer_max)
    f = {reason::queue_full, "offer: all " + std::to_string(queued_offers_per_peer_max)
                               + " places in the queue are taken"};
  if (f)
    emit(offer_rejected{offer.lane, offer.piece, std::move(f)});
  else
    peer->queue.push(offer.lane, std::move(offer));
}

void engine::execute(withdraw_command& c) {
  if (peer_record* peer = peer_named(c.destination))
    peer->queue.take_if([&](const queued_offer& o) { return o.lane == c.lane; });
}

void engine::execute(query_command& c) {
  tell(c.destination, wire::query{c.lane});
}

bool engine::pump_offers() {
  bool posted = false;
  for (auto& [name, peer] : peers_)
    posted |= peer.phase == peer_phase::up && !peer.queue.empty() && post_next(peer);
  return posted;
}

/// False when the window or the staging budget is used up.
bool engine::post_next(peer_record& peer) {
  queued_offer& offer = peer.queue.front();
  if (setup_.check == integrity::all && !offer.digest)
    offer.digest = digest_of(offer.payload ? offer.payload->data() : setup_.memory->base(),
                             offer.where);
  const bool by_announcement = setup_.path != path_kind::pull && !offer.payload;
  const std::uint64_t before = offer.next_offset;
  if (!(by_announcement ? announce(peer, offer) : post_part(peer, offer)))
    return false;
  peer.queue.serve(offer.next_offset - before, offer.next_offset == offer.where.total_bytes());
  return true;
}

bool engine::announce(peer_record& peer, queued_offer& offer) {
  const std::uint64_t bytes = moved_bytes(offer.where);
  if (peer.window_bytes > 0 && peer.window_bytes + bytes > setup_.limits.offer_window_bytes)
    return false;
  peer.window_bytes += bytes;
  offer.next_offset = offer.where.total_bytes();
  send_to(peer, wire::announcement{offer.lane, offer.piece, offer.block, offer.where,
                                   offer.digest});
  return true;
}

bool engine::post_part(peer_record& peer, queued_offer& offer) {
  const std::uint64_t total = offer.where.total_bytes();
  const std::uint64_t part_max = setup_.limits.message_bytes_max;
  const std::uint64_t bytes = std::min(part_max, total - offer.next_offset);
  if (peer.window_bytes > 0 && peer.window_bytes + bytes > setup_.limits.offer_window_bytes)
    return false;
  posted_part part{peer.channel, offer.lane, bytes, 0, offer.payload};
  const std::byte* from = offer.payload ? offer.payload->data() + offer.next_offset : nullptr;
  if (!offer.payload && is_contiguous(offer.where)) {
    from = setup_.memory->base() + offer.where.offset + offer.next_offset;
  } else if (!offer.payload) {
    if (staging_bytes_ > 0 && staging_bytes_ + bytes > setup_.limits.inflight_bytes_max)
      return false;
    part.staging_bytes = bytes;
    part.buffer = std::make_shared<std::vector<std::byte>>(bytes);
    copy_piece({part.buffer->data(), contiguous(0, bytes), 0},
               {setup_.memory->base(), offer.where, offer.next_offset}, bytes);
    from = part.buffer->data();
  }
  const wire::part_header header{offer.lane, offer.piece, offer.block,  total,
                                 offer.next_offset, bytes, part_max, offer.digest};
  offer.next_offset += bytes;
  const bool wait_for_reader = !offer.payload;
  const std::uint64_t token = next_token_++;
  staging_bytes_ += part.staging_bytes;
  peer.window_bytes += bytes;
  posted_parts_.emplace(token, std::move(part));
  const posting now = carrier_->send_part(peer.channel, wire::encode(setup_.life, header), from,
                                          bytes, wait_for_reader, token);
  if (now != posting::pending)
    part_sent(token, now == posting::done);
  return true;
}

/// A send's Success only frees our own buffer and window; it says nothing to the caller.
void engine::part_sent(std::uint64_t token, bool ok) {
  auto node = posted_parts_.extract(token);
  posted_part& part = node.mapped();
  if (peer_record* peer = peer_on(part.channel))
    peer->window_bytes -= part.bytes;
  if (!ok && part.buffer) {
    // Cancelled or failed here does not mean that the reader has stopped (it may be reading this
    // process's memory directly): kept until the lane's receipt or stop.
    const lane_id lane = part.lane;
    retained_parts_.emplace(lane, std::move(part));
    return;
  }
  staging_bytes_ -= part.staging_bytes;
}

void engine::release_buffers(const lane_id& lane) {
  const auto [first, last] = retained_parts_.equal_range(lane);
  for (auto at = first; at != last; ++at)
    staging_bytes_ -= at->second.staging_bytes;
  retained_parts_.erase(first, last);
}

} // namespace baton::transport
