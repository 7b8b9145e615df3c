// In place: pieces are announced as anywhere else, judged by the same table, digested where they
// lie, and not moved.
#include "transport/engine.hpp"

namespace baton::transport {

using protocol::reason;

namespace {

bool same_place(const strided& a, const strided& b) {
  return a.offset == b.offset && a.segment_bytes == b.segment_bytes && a.segments == b.segments
         && (a.segments == 1 || a.stride == b.stride);
}

} // namespace

/// What an announced piece takes of the window: it bounds bytes that are on their way.
std::uint64_t engine::moved_bytes(const strided& piece) const {
  return setup_.path == path_kind::in_place ? 0 : piece.total_bytes();
}

/// A notice proves nothing about its bytes: only its digest does, where there is one. It counts as
/// landed if the table expects it, in that very place, from that very life.
void engine::take_written(peer_record& peer, const wire::announcement& m) {
  const std::uint64_t bytes = m.where.total_bytes();
  verdict answer = table_.judge(peer.life, {m.lane, m.piece, m.block, bytes, 0, bytes, bytes,
                                            m.digest});
  if (auto* refused = std::get_if<part_refused>(&answer))
    return refuse(m.lane, m.piece, peer.channel, std::move(refused->error));
  const auto* accepted = std::get_if<part_accepted>(&answer);
  if (accepted == nullptr) {
    ++now_.duplicates;
    return;
  }
  const landing_place place = table_.place_of(m.lane, m.piece);
  if (place.base != setup_.memory->base())
    part_failed(accepted->key, peer.channel,
                {reason::bad_input, "offer: payload: announced without its bytes"});
  else if (same_place(m.where, place.where))
    part_landed(accepted->key, peer.channel);
  else
    part_failed(accepted->key, peer.channel,
                {reason::bad_input, "offer: where: the piece is said to be in another place"});
}

} // namespace baton::transport
