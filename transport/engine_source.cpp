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
  if (!give_turn(peer))
    return false;
  queued_offer& offer = peer.queue.front();
  if (announces(offer))
    return announce(peer), true;
  const std::size_t pieces = run_length(peer);
  return pieces > 1 ? (post_run(peer, pieces), true) : post_part(peer, offer);
}

bool engine::announces(const queued_offer& offer) const {
  return setup_.path != path_kind::pull && !offer.payload;
}

/// Of what is posted next.
std::uint64_t engine::next_bytes(const queued_offer& offer) const {
  const std::uint64_t total = offer.where.total_bytes();
  return announces(offer) ? moved_bytes(offer.where)
                          : std::min(part_bytes_of(total), total - offer.next_offset);
}

/// To whoever is first by right among those whom the window lets pass.
bool engine::give_turn(peer_record& peer) {
  return peer.queue.choose([&](const queued_offer& oldest, std::uint64_t had_bytes) {
    return fits_window(peer, next_bytes(oldest), had_bytes);
  });
}

/// A lane that has just come passes a window which others have filled: the destination can prefer a
/// short one only when it knows of it. So the window is filled twice at most.
bool engine::fits_window(const peer_record& peer, std::uint64_t bytes,
                         std::uint64_t had_bytes) const {
  const std::uint64_t window = setup_.limits.offer_window_bytes;
  const std::uint64_t then = peer.window_bytes + bytes;
  return peer.window_bytes == 0 || then <= window
         || (had_bytes + bytes <= window / 2 && then <= 2 * window);
}

void engine::add_digest(queued_offer& offer) {
  if (is_digested(setup_.check, offer.lane, offer.piece, offer.payload != nullptr)
      && !offer.digest)
    offer.digest = digest_of(offer.payload ? offer.payload->data() : setup_.memory->base(),
                             offer.where);
}

/// As many as the window takes, of whichever lanes have their turn, in one frame.
void engine::announce(peer_record& peer) {
  wire::announcements together;
  while (together.pieces.size() < wire::announcements_max && give_turn(peer)) {
    queued_offer& offer = peer.queue.front();
    const std::uint64_t bytes = offer.where.total_bytes();
    if (!announces(offer))
      break;
    add_digest(offer);
    peer.window_bytes += moved_bytes(offer.where);
    together.pieces.push_back({offer.lane, offer.piece, offer.block, offer.where, offer.digest});
    peer.queue.serve(bytes, 1);
  }
  send_to(peer, together);
}

/// How many of the front lane's oldest offers can travel in one message: whole pieces that follow
/// each other in the arena here and, by their blocks' numbers, probably there. Where they do not,
/// the destination stages them, which takes twice their bytes of its budget: one like ours, we
/// suppose. No run must be refused for its length when each of its pieces alone would pass.
std::size_t engine::run_length(peer_record& peer) {
  const std::deque<queued_offer>& line = peer.queue.front_line();
  const auto whole = [](const queued_offer& o) {
    return !o.payload && o.next_offset == 0 && is_contiguous(o.where);
  };
  const std::uint64_t had_bytes = peer.queue.front_served_bytes();
  const std::uint64_t bytes_max
    = std::min({setup_.limits.message_bytes_max, setup_.limits.offer_window_bytes,
                setup_.limits.inflight_bytes_max / 2});
  std::uint64_t bytes = line.front().where.total_bytes();
  std::size_t count = 1;
  if (!whole(line.front()))
    return count;
  for (; count < std::min(line.size(), wire::run_pieces_max); ++count) {
    const queued_offer& last = line[count - 1];
    const queued_offer& next = line[count];
    bytes += next.where.total_bytes();
    if (!whole(next) || bytes > bytes_max
        || !fits_window(peer, bytes, had_bytes) || next.piece <= last.piece
        || next.block.block.value != last.block.block.value + 1
        || next.where.offset != last.where.offset + last.where.total_bytes())
      break;
  }
  return count;
}

void engine::post_run(peer_record& peer, std::size_t pieces) {
  std::deque<queued_offer>& line = peer.queue.front_line();
  wire::run_header header{line.front().lane, {}};
  const std::byte* from = setup_.memory->base() + line.front().where.offset;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    queued_offer& offer = line[i];
    bytes += offer.where.total_bytes();
    add_digest(offer);
    header.pieces.push_back({offer.piece, offer.block, offer.where.total_bytes(), offer.digest});
  }
  peer.queue.serve(bytes, pieces);
  post_message(peer, header, from, {peer.channel, header.lane, bytes, 0, nullptr}, true);
}

/// Of a part of a piece of `total` bytes. Parts are equal: 2.5 MiB are 1.25 twice, not 2 and 0.5.
std::uint64_t engine::part_bytes_of(std::uint64_t total) const {
  const std::uint64_t parts = (total - 1) / setup_.limits.message_bytes_max + 1;
  return (total - 1) / parts + 1;
}

bool engine::post_part(peer_record& peer, queued_offer& offer) {
  const std::uint64_t total = offer.where.total_bytes();
  const std::uint64_t bytes = next_bytes(offer);
  add_digest(offer);
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
                                 offer.next_offset, bytes, part_bytes_of(total), offer.digest};
  const bool wait_for_reader = !offer.payload;
  offer.next_offset += bytes;
  peer.queue.serve(bytes, offer.next_offset == total ? 1 : 0);
  post_message(peer, header, from, std::move(part), wait_for_reader);
  return true;
}

void engine::post_message(peer_record& peer, const wire::message& header, const std::byte* from,
                          posted_part part, bool wait_for_reader) {
  const std::uint64_t bytes = part.bytes;
  const std::uint64_t token = next_token_++;
  staging_bytes_ += part.staging_bytes;
  peer.window_bytes += bytes;
  posted_parts_.emplace(token, std::move(part));
  const posting now = carrier_->send_part(peer.channel, wire::encode(setup_.life, header), from,
                                          bytes, wait_for_reader, token);
  if (now != posting::pending)
    part_sent(token, now == posting::done);
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
