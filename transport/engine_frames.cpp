#include "transport/engine.hpp"
#include "transport/layout.hpp"

namespace baton::transport {

using protocol::reason;

void engine::frame_arrived(const std::byte* frame, std::size_t size) {
  auto decoded = wire::decode(frame, size);
  if (!decoded) {
    ++now_.offers_refused; // nothing in it can be trusted, not even whom to answer
    return;
  }
  wire::envelope& e = decoded.value();
  if (peer_record* peer = peer_living(e.from)) {
    peer->last_heard = clock::now();
    std::visit([&](auto& m) { take(*peer, m); }, e.body);
  } else {
    stranger(e.from, e.body);
  }
}

void engine::part_arrived(const std::byte* frame, std::size_t size, const arrival& data) {
  const waiting_bytes* waiting = std::get_if<waiting_bytes>(&data.where);
  auto decoded = wire::decode(frame, size);
  const std::vector<wire::part_header> offered
    = decoded ? offered_by(decoded.value().body) : std::vector<wire::part_header>{};
  peer_record* peer = offered.empty() ? nullptr : peer_living(decoded.value().from);
  incoming_message message;
  if (offered.empty())
    ++now_.offers_refused;
  else if (peer == nullptr)
    stranger(decoded.value().from, decoded.value().body);
  else
    message = judge_message(*peer, offered, data.bytes);
  if (message.wanted.empty()) {
    if (waiting != nullptr)
      carrier_->drop(waiting->handle);
  } else if (waiting != nullptr) {
    message.handle = waiting->handle;
    receive_or_wait(std::move(message));
  } else {
    land_eager(message, std::get<eager_bytes>(data.where).data);
  }
}

/// What a message with bytes offers, in the order of its bytes; nothing if it is of another kind.
std::vector<wire::part_header> engine::offered_by(const wire::message& m) {
  if (const auto* part = std::get_if<wire::part_header>(&m))
    return {*part};
  std::vector<wire::part_header> offered;
  if (const auto* run = std::get_if<wire::run_header>(&m))
    for (const wire::run_piece& p : run->pieces)
      offered.push_back({run->lane, p.piece, p.block, p.bytes, 0, p.bytes, p.bytes, p.digest});
  return offered;
}

/// Each piece gets its own verdict: what is refused or repeated does not touch its neighbours. A
/// message of another size than its header says is refused as a whole, each piece by name.
engine::incoming_message engine::judge_message(peer_record& peer,
                                               const std::vector<wire::part_header>& offered,
                                               std::uint64_t bytes) {
  peer.last_heard = clock::now();
  incoming_message message{peer.channel, offered.front().lane, bytes, {}, nullptr};
  std::uint64_t sum = 0;
  bool fits = true;
  for (const wire::part_header& o : offered)
    fits = fits && !__builtin_add_overflow(sum, o.part_bytes, &sum);
  fits = fits && sum == bytes;
  std::uint64_t at = 0;
  for (const wire::part_header& o : offered) {
    verdict answer
      = fits ? table_.judge(peer.life, o)
             : part_refused{{reason::bad_input,
                             "offer: part_bytes: the message is of another size"}};
    if (const auto* accepted = std::get_if<part_accepted>(&answer))
      message.wanted.push_back({*accepted, at});
    else if (auto* refused = std::get_if<part_refused>(&answer))
      refuse(o.lane, o.piece, peer.channel, std::move(refused->error));
    else
      ++now_.duplicates;
    at += o.part_bytes;
  }
  return message;
}

void engine::take(peer_record& peer, wire::hello& m) {
  if (is_failed(peer.channel))
    return; // a new channel of a peer whose old one is still being closed: it must be met anew
  if (m.to != setup_.life || m.path != setup_.path) {
    channel_failed(peer.channel, {reason::stale_incarnation,
                                  "hello: meant for another life or path of this node"});
    return;
  }
  const bool greeting = peer.phase == peer_phase::greeting;
  if (!m.answer_wanted) { // our own hello has arrived: the way there works too
    if (greeting)
      finish_greeting(peer);
    return;
  }
  send_to(peer, wire::hello{peer.life, setup_.path, false});
  if (greeting) // our first hello may have come before the peer knew us
    send_to(peer, wire::hello{peer.life, setup_.path, true});
}

/// Offers without their bytes.
void engine::take(peer_record& peer, wire::part_header& m) {
  refuse(m.lane, m.piece, peer.channel, {reason::bad_input, "offer: bytes: none came with it"});
}
void engine::take(peer_record& peer, wire::run_header& m) {
  for (const wire::run_piece& p : m.pieces)
    refuse(m.lane, p.piece, peer.channel, {reason::bad_input, "offer: bytes: none came with it"});
}

void engine::take(peer_record& peer, wire::announcements& m) {
  for (const wire::announcement& each : m.pieces)
    take_announced(peer, each);
}

void engine::take_announced(peer_record& peer, const wire::announcement& m) {
  if (setup_.path == path_kind::in_place)
    return take_written(peer, m);
  const std::uint64_t bytes = m.where.total_bytes();
  verdict answer;
  if (peer.view == nullptr)
    answer = part_refused{{reason::unsupported, "offer: announced, but this node pulls"}};
  else if (failure f = check_bounds(m.where, peer.view->bytes()))
    answer = part_refused{std::move(f)};
  else
    answer = table_.judge(peer.life,
                          {m.lane, m.piece, m.block, bytes, 0, bytes, bytes, m.digest});
  const auto* accepted = std::get_if<part_accepted>(&answer);
  peer.announced_bytes += bytes;
  if (accepted != nullptr && copies_.size() < copy_jobs_max) {
    copies_.push(m.lane, {peer.channel, *accepted, m.where, 0});
    return;
  }
  give_back(peer, bytes);
  if (accepted != nullptr)
    part_failed(accepted->key, peer.channel,
                {reason::queue_full, "offer: all " + std::to_string(copy_jobs_max)
                                       + " places for copies are taken"});
  else if (auto* refused = std::get_if<part_refused>(&answer))
    refuse(m.lane, m.piece, peer.channel, std::move(refused->error));
  else
    ++now_.duplicates;
}

void engine::take(peer_record& peer, wire::taken& m) {
  peer.window_bytes -= std::min(peer.window_bytes, m.bytes);
}

void engine::take(peer_record&, wire::receipt& m) {
  release_buffers(m.lane);
  emit(receipt_arrived{m.lane});
}

void engine::take(peer_record&, wire::stopped& m) {
  release_buffers(m.lane);
  emit(reader_stopped{m.lane});
}

void engine::take(peer_record& peer, wire::query& m) {
  switch (table_.state_of(m.lane)) {
  case lane_table::lane_state::open:
  case lane_table::lane_state::stopping: return; // nothing to say yet
  case lane_table::lane_state::received: send_to(peer, wire::receipt{m.lane}); return;
  case lane_table::lane_state::stopped:
  case lane_table::lane_state::unknown: // what is not in the table reads nothing
    send_to(peer, wire::stopped{m.lane});
    return;
  }
}

void engine::take(peer_record&, wire::rejected& m) {
  emit(offer_rejected{m.lane, m.piece, std::move(m.error)});
}

void engine::take(peer_record& peer, wire::farewell&) {
  channel_failed(peer.channel, {reason::peer_lost, "the peer has closed its channel"});
}

/// A life that no connect() has named. There is no channel to answer on; its words move nothing.
void engine::stranger(const incarnation& from, const wire::message& m) {
  const failure error{reason::stale_incarnation,
                      "offer: source: " + protocol::to_string(from) + " is not connected"};
  for (const wire::part_header& part : offered_by(m))
    refuse(part.lane, part.piece, 0, error);
  if (const auto* announced = std::get_if<wire::announcements>(&m))
    for (const wire::announcement& each : announced->pieces)
      refuse(each.lane, each.piece, 0, error);
}

} // namespace baton::transport
