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
        if (receive.message.lane == lane)
          channel_failed(receive.message.channel, {reason::deadline_passed,
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
  landed_.push_back(std::move(landed));
}

/// Everything that has landed since the last notice; each other event has it told first.
bool engine::tell_landed() {
  if (landed_.empty())
    return false;
  setup_.sink(pieces_landed{std::exchange(landed_, {})});
  return true;
}

/// Copies the wanted parts of a message, whose bytes are at `data`, to their places.
void engine::place_parts(const incoming_message& m, const std::byte* data) {
  for (const wanted_part& each : m.wanted) {
    const landing_place place = table_.place_of(each.part.key.lane, each.part.key.piece);
    copy_piece({place.base, place.where, each.part.offset},
               {data, contiguous(0, m.bytes), each.message_offset}, each.part.bytes);
  }
}

void engine::land_eager(const incoming_message& m, const std::byte* data) {
  place_parts(m, data);
  for (const wanted_part& each : m.wanted)
    part_landed(each.part.key, m.channel);
}

/// Where the message's bytes can be received as they are; nullptr when not all of them are wanted
/// or their places do not follow each other.
std::byte* engine::direct_place(const incoming_message& m) {
  std::byte* begin = nullptr;
  std::uint64_t end = 0;
  for (const wanted_part& each : m.wanted) {
    const landing_place place = table_.place_of(each.part.key.lane, each.part.key.piece);
    std::byte* at = place.base + place.where.offset + each.part.offset;
    begin = begin == nullptr ? at : begin;
    if (!is_contiguous(place.where) || each.message_offset != end || at != begin + end)
      return nullptr;
    end += each.part.bytes;
  }
  return end == m.bytes ? begin : nullptr;
}

/// Bytes of the budget that a receive takes: itself, and as much again when it is staged.
std::uint64_t engine::charge_of(const incoming_message& m) {
  return direct_place(m) == nullptr ? 2 * m.bytes : m.bytes;
}

bool engine::fits_budget(const incoming_message& m) {
  return inflight_bytes_ + charge_of(m) <= setup_.limits.inflight_bytes_max;
}

bool engine::may_post(const incoming_message& m) {
  return receives_.size() < posted_receives_max && fits_budget(m);
}

void engine::receive_or_wait(incoming_message m) {
  const std::uint64_t charge = charge_of(m);
  if (charge > setup_.limits.inflight_bytes_max) {
    carrier_->drop(m.handle);
    message_failed(m, {reason::inflight_budget,
                       "offer: part needs " + std::to_string(charge)
                         + " bytes in flight, the limit is "
                         + std::to_string(setup_.limits.inflight_bytes_max)});
  } else if (waiting_.empty() && may_post(m)) {
    post_receive(std::move(m));
  } else if (waiting_.size() < waiting_arrivals_max) {
    now_.arrivals_deferred += fits_budget(m) ? 0 : 1;
    const lane_id lane = m.lane;
    waiting_.push(lane, std::move(m));
  } else {
    carrier_->drop(m.handle);
    message_failed(m, {reason::queue_full, "offer: all " + std::to_string(waiting_arrivals_max)
                                             + " places for waiting offers are taken"});
  }
}

void engine::message_failed(const incoming_message& m, const failure& error) {
  for (const wanted_part& each : m.wanted)
    part_failed(each.part.key, m.channel, error);
}

/// Whose turn it is waits until it fits, so that a large part is not overtaken for ever.
bool engine::post_waiting() {
  bool any = false;
  while (!waiting_.empty() && may_post(waiting_.front())) {
    incoming_message next = std::move(waiting_.front());
    waiting_.serve(next.bytes, 1);
    post_receive(std::move(next));
    any = true;
  }
  return any;
}

void engine::post_receive(incoming_message m) {
  posted_receive receive{std::move(m), 0, nullptr};
  const incoming_message& message = receive.message;
  receive.charged_bytes = charge_of(message);
  std::byte* to = direct_place(message);
  if (to == nullptr) {
    receive.staging.reset(new std::byte[message.bytes]);
    to = receive.staging.get();
  }
  inflight_bytes_ += receive.charged_bytes;
  now_.inflight_bytes_peak = std::max(now_.inflight_bytes_peak, inflight_bytes_);
  table_.operation_posted(message.lane);
  const std::uint64_t token = next_token_++;
  const std::uint64_t bytes = message.bytes;
  void* const handle = message.handle;
  receives_.emplace(token, std::move(receive));
  const posting now = carrier_->receive(handle, to, bytes, token);
  if (now == posting::done)
    part_received(token, {});
  else if (now == posting::failed)
    part_received(token, {reason::peer_lost, "offer: the receive could not be posted"});
}

void engine::part_received(std::uint64_t token, const failure& error) {
  auto node = receives_.extract(token);
  finish_receive(node.mapped(), error);
}

void engine::finish_receive(const posted_receive& receive, const failure& error) {
  const incoming_message& message = receive.message;
  inflight_bytes_ -= receive.charged_bytes;
  table_.operation_ended(message.lane);
  if (stopping_)
    return;
  if (table_.state_of(message.lane) != lane_table::lane_state::open) {
    forget(message); // revoked meanwhile: it counts for nothing
    return;
  }
  if (error) {
    message_failed(message, error);
    return;
  }
  if (receive.staging)
    place_parts(message, receive.staging.get());
  for (const wanted_part& each : message.wanted)
    part_landed(each.part.key, message.channel);
}

void engine::forget(const incoming_message& m) {
  for (const wanted_part& each : m.wanted)
    table_.forget_part(each.part.key);
}

void engine::drop_pending_of(const lane_id& lane) {
  for (const incoming_message& m :
       waiting_.take_if([&](const incoming_message& m) { return m.lane == lane; })) {
    carrier_->drop(m.handle);
    forget(m);
  }
  drop_copies_of(lane);
}

/// What has not been posted ends here; what has been posted ends with its own callback.
void engine::fail_pending_of(channel_id channel, const failure& error) {
  const failure lost{reason::peer_lost, error.text};
  for (const incoming_message& m :
       waiting_.take_if([&](const incoming_message& m) { return m.channel == channel; })) {
    carrier_->drop(m.handle);
    message_failed(m, lost);
  }
  fail_copies_of(channel, lost);
}

} // namespace baton::transport
