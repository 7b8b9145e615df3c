#include "transport/engine.hpp"
#include "transport/layout.hpp"

#include <algorithm>

namespace baton::transport {

using protocol::reason;

void engine::execute(admit_command& c) {
  const lane_id lane = c.grant.lane;
  if (failure f = table_.admit(std::move(c.grant))) {
    ++now_.offers_refused;
    emit(offer_refused{lane, UINT32_MAX, std::move(f)});
    return;
  }
  emit(lane_admitted{lane});
}

void engine::execute(revoke_command& c) {
  drop_pending_of(c.lane);
  table_.begin_stopping(c.lane);
  stopping_lanes_[c.lane] = {std::move(c.source), clock::now() + stop_patience};
}

/// Our own callbacks are the only evidence: no clock and no close decides that a lane has stopped.
bool engine::finish_stopping_lanes() {
  bool any = false;
  const clock::time_point now = clock::now();
  for (auto at = stopping_lanes_.begin(); at != stopping_lanes_.end();) {
    const lane_id lane = at->first;
    stopping_lane& stopping = at->second;
    if (table_.finish_stopping(lane)
        || table_.state_of(lane) != lane_table::lane_state::stopping) {
      tell(stopping.source, wire::stopped{lane});
      at = stopping_lanes_.erase(at);
      emit(lane_stopped{lane});
      any = true;
      continue;
    }
    if (now >= stopping.deadline) {
      stopping.deadline = now + stop_patience;
      for (const auto& [token, receive] : receives_)
        if (receive.part.key.lane == lane)
          channel_failed(receive.channel, {reason::deadline_passed,
                                           "revoke: a receive did not end within "
                                             + std::to_string(stop_patience.count()) + " s"});
    }
    ++at;
  }
  return any;
}

void engine::execute(receipt_command& c) {
  const auto state = table_.state_of(c.lane);
  if (state == lane_table::lane_state::open)
    table_.finish_received(c.lane);
  else if (state != lane_table::lane_state::received)
    return; // revoked: the source has been or will be told `stopped`
  tell(c.source, wire::receipt{c.lane});
}

void engine::refuse(const lane_id& lane, std::uint32_t piece, channel_id channel, failure error) {
  ++now_.offers_refused;
  if (const peer_record* peer = peer_on(channel))
    send_to(*peer, wire::rejected{lane, piece, error});
  emit(offer_refused{lane, piece, std::move(error)});
}

void engine::part_failed(const part_key& key, channel_id channel, failure error) {
  table_.forget_part(key);
  refuse(key.lane, key.piece, channel, std::move(error));
}

void engine::part_landed(const part_key& key, channel_id channel) {
  auto result = table_.land_part(key);
  if (!result)
    return;
  if (auto* refused = std::get_if<offer_refused>(&*result)) {
    refuse(key.lane, key.piece, channel, std::move(refused->error));
    return;
  }
  piece_landed& landed = std::get<piece_landed>(*result);
  if (setup_.path == path_kind::in_place && landed.payload.empty())
    landed.bytes = 0; // it was here before it was announced
  now_.bytes_landed += landed.bytes;
  emit(std::move(landed));
}

void engine::land_eager(const part_accepted& part, channel_id channel, const std::byte* data) {
  const landing_place place = table_.place_of(part.key.lane, part.key.piece);
  copy_piece({place.base, place.where, part.offset}, {data, contiguous(0, part.bytes), 0},
             part.bytes);
  part_landed(part.key, channel);
}

/// Bytes of the budget that a receive takes: itself, and as much again when it is staged.
std::uint64_t engine::charge_of(const part_accepted& part) {
  const bool staged = !is_contiguous(table_.place_of(part.key.lane, part.key.piece).where);
  return staged ? 2 * part.bytes : part.bytes;
}

bool engine::fits_budget(const part_accepted& part) {
  return inflight_bytes_ + charge_of(part) <= setup_.limits.inflight_bytes_max;
}

bool engine::may_post(const part_accepted& part) {
  return fits_budget(part)
         && (posted_bytes_ == 0 || posted_bytes_ + part.bytes <= posted_bytes_max);
}

void engine::receive_or_wait(const part_accepted& part, channel_id channel, void* handle) {
  const std::uint64_t charge = charge_of(part);
  if (charge > setup_.limits.inflight_bytes_max) {
    carrier_->drop(handle);
    part_failed(part.key, channel,
                {reason::inflight_budget,
                 "offer: part needs " + std::to_string(charge) + " bytes in flight, the limit is "
                   + std::to_string(setup_.limits.inflight_bytes_max)});
  } else if (waiting_.empty() && may_post(part)) {
    post_receive(part, channel, handle);
  } else if (waiting_.size() < waiting_arrivals_max) {
    now_.arrivals_deferred += fits_budget(part) ? 0 : 1;
    waiting_.push(part.key.lane, {channel, part, handle});
  } else {
    carrier_->drop(handle);
    part_failed(part.key, channel,
                {reason::queue_full, "offer: all " + std::to_string(waiting_arrivals_max)
                                       + " places for waiting offers are taken"});
  }
}

/// Whose turn it is waits until it fits, so that a large part is not overtaken for ever.
bool engine::post_waiting() {
  bool any = false;
  while (!waiting_.empty() && may_post(waiting_.front().part)) {
    const waiting_arrival next = waiting_.front();
    waiting_.serve(next.part.bytes, true);
    post_receive(next.part, next.channel, next.handle);
    any = true;
  }
  return any;
}

void engine::post_receive(const part_accepted& part, channel_id channel, void* handle) {
  const landing_place place = table_.place_of(part.key.lane, part.key.piece);
  posted_receive receive{channel, part, charge_of(part), nullptr};
  std::byte* to = place.base + place.where.offset + part.offset;
  if (!is_contiguous(place.where)) {
    receive.staging.reset(new std::byte[part.bytes]);
    to = receive.staging.get();
  }
  inflight_bytes_ += receive.charged_bytes;
  posted_bytes_ += part.bytes;
  now_.inflight_bytes_peak = std::max(now_.inflight_bytes_peak, inflight_bytes_);
  table_.operation_posted(part.key.lane);
  const std::uint64_t token = next_token_++;
  receives_.emplace(token, std::move(receive));
  const posting now = carrier_->receive(handle, to, part.bytes, token);
  if (now == posting::done)
    part_received(token, {});
  else if (now == posting::failed)
    part_received(token, {reason::peer_lost, "offer: the receive could not be posted"});
}

void engine::part_received(std::uint64_t token, const failure& error) {
  auto node = receives_.extract(token);
  finish_receive(std::move(node.mapped()), error);
}

void engine::finish_receive(posted_receive receive, const failure& error) {
  const part_accepted& part = receive.part;
  inflight_bytes_ -= receive.charged_bytes;
  posted_bytes_ -= part.bytes;
  table_.operation_ended(part.key.lane);
  if (stopping_)
    return;
  if (table_.state_of(part.key.lane) != lane_table::lane_state::open) {
    table_.forget_part(part.key); // revoked meanwhile: it counts for nothing
    return;
  }
  if (error) {
    part_failed(part.key, receive.channel, error);
    return;
  }
  if (receive.staging) {
    const landing_place place = table_.place_of(part.key.lane, part.key.piece);
    copy_piece({place.base, place.where, part.offset},
               {receive.staging.get(), contiguous(0, part.bytes), 0}, part.bytes);
  }
  part_landed(part.key, receive.channel);
}

/// One slice of an announced piece, so that notices are never stuck behind a long copy.
bool engine::copy_slice() {
  if (copies_.empty())
    return false;
  copy_job& job = copies_.front();
  source_view& view = *peer_on(job.channel)->view;
  const std::uint64_t bytes = std::min(copy_slice_bytes, job.part.bytes - job.done_bytes);
  const std::byte* source = view.begin_reading();
  if (source != nullptr) {
    const landing_place place = table_.place_of(job.part.key.lane, job.part.key.piece);
    copy_piece({place.base, place.where, job.done_bytes}, {source, job.from, job.done_bytes},
               bytes);
    view.end_reading();
    job.done_bytes += bytes;
  }
  const copy_job finished = job;
  const bool done = source == nullptr || job.done_bytes == job.part.bytes;
  copies_.serve(bytes, done);
  if (!done)
    return true;
  send_to(*peer_on(finished.channel), wire::taken{finished.part.bytes});
  if (source != nullptr)
    part_landed(finished.part.key, finished.channel);
  else
    part_failed(finished.part.key, finished.channel,
                {reason::peer_lost, "offer: the source's arena has gone"});
  return true;
}

void engine::drop_pending_of(const lane_id& lane) {
  const auto mine = [&](const auto& pending) { return pending.part.key.lane == lane; };
  for (const waiting_arrival& w : waiting_.take_if(mine)) {
    carrier_->drop(w.handle);
    table_.forget_part(w.part.key);
  }
  for (const copy_job& job : copies_.take_if(mine)) {
    send_to(*peer_on(job.channel), wire::taken{job.part.bytes});
    table_.forget_part(job.part.key);
  }
}

/// What has not been posted ends here; what has been posted ends with its own callback.
void engine::fail_pending_of(channel_id channel, const failure& error) {
  const auto mine = [&](const auto& pending) { return pending.channel == channel; };
  std::vector<part_key> failed;
  for (const waiting_arrival& w : waiting_.take_if(mine)) {
    carrier_->drop(w.handle);
    failed.push_back(w.part.key);
  }
  for (const copy_job& job : copies_.take_if(mine))
    failed.push_back(job.part.key);
  for (const part_key& key : failed)
    part_failed(key, channel, {reason::peer_lost, error.text});
}

} // namespace baton::transport
