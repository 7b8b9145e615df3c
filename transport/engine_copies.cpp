// Pieces that a source has announced: copied here, slice by slice, out of its mapped memory.
#include "transport/engine.hpp"
#include "transport/layout.hpp"

#include <algorithm>

namespace baton::transport {

using protocol::reason;

/// So much that frames and commands hardly wait, and that one notice covers several small pieces.
bool engine::copy_some() {
  const bool any = !copies_.empty();
  std::uint64_t left = copy_slice_bytes;
  while (left > 0 && !copies_.empty())
    left -= copy_slice(left);
  return any;
}

/// At most `bytes_max` of the piece whose turn it is; how many they were.
std::uint64_t engine::copy_slice(std::uint64_t bytes_max) {
  copy_job& job = copies_.front();
  peer_record& peer = *peer_on(job.channel);
  const std::uint64_t bytes = std::min(bytes_max, job.part.bytes - job.done_bytes);
  const std::byte* source = peer.view->begin_reading();
  if (source != nullptr) {
    const landing_place place = table_.place_of(job.part.key.lane, job.part.key.piece);
    copy_piece({place.base, place.where, job.done_bytes}, {source, job.from, job.done_bytes},
               bytes);
    peer.view->end_reading();
    job.done_bytes += bytes;
  }
  const copy_job finished = job;
  const bool done = source == nullptr || job.done_bytes == job.part.bytes;
  copies_.serve(bytes, done ? 1 : 0);
  if (!done)
    return bytes;
  give_back(peer, finished.part.bytes);
  if (source != nullptr)
    part_landed(finished.part.key, finished.channel);
  else
    part_failed(finished.part.key, finished.channel,
                {reason::peer_lost, "offer: the source's arena has gone"});
  return bytes;
}

/// An announced piece is dealt with. The source hears of many at once: when they are a good part of
/// its window, or at least as much as still waits here.
void engine::give_back(peer_record& peer, std::uint64_t bytes) {
  peer.announced_bytes -= bytes;
  peer.taken_bytes += bytes;
  if (peer.taken_bytes < std::min(taken_notice_bytes, peer.announced_bytes))
    return;
  send_to(peer, wire::taken{std::exchange(peer.taken_bytes, 0)});
}

void engine::drop_copies_of(const lane_id& lane) {
  for (const copy_job& job :
       copies_.take_if([&](const copy_job& job) { return job.part.key.lane == lane; })) {
    give_back(*peer_on(job.channel), job.part.bytes);
    table_.forget_part(job.part.key);
  }
}

void engine::fail_copies_of(channel_id channel, const failure& error) {
  for (const copy_job& job :
       copies_.take_if([&](const copy_job& job) { return job.channel == channel; }))
    part_failed(job.part.key, channel, error);
}

} // namespace baton::transport
