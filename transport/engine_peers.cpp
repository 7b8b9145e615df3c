#include "transport/engine.hpp"

#include <algorithm>

namespace baton::transport {

using protocol::reason;

engine::peer_record* engine::peer_named(const node_name& name) {
  const auto at = peers_.find(name);
  return at == peers_.end() ? nullptr : &at->second;
}

engine::peer_record* engine::peer_living(const incarnation& life) {
  for (auto& [name, peer] : peers_)
    if (peer.life == life)
      return &peer;
  return nullptr;
}

engine::peer_record* engine::peer_on(channel_id channel) {
  for (auto& [name, peer] : peers_)
    if (peer.channel == channel)
      return &peer;
  return nullptr;
}

void engine::send_to(const peer_record& peer, const wire::message& m) {
  carrier_->send(peer.channel, wire::encode(setup_.life, m));
}

void engine::tell(const node_name& name, const wire::message& m) {
  if (const peer_record* peer = peer_named(name))
    send_to(*peer, m);
}

void engine::execute(connect_command& c) {
  if (peer_record* known = peer_named(c.peer)) {
    if (known->life == c.life) {
      if (known->phase == peer_phase::up)
        finish_greeting(*known);
      return; // otherwise the answer is on its way
    }
    close_peer(c.peer, {reason::stale_incarnation, "connect: replaced by a newer life"});
  }
  if (failure f = open_peer(c))
    emit(peer_connected{c.peer, std::move(f), {}});
}

failure engine::open_peer(const connect_command& c) {
  if (peers_.size() >= peers_max)
    return {reason::queue_full, "connect: peers: all " + std::to_string(peers_max)
                                  + " places are taken"};
  if (peer_living(c.life) != nullptr)
    return {reason::duplicate, "connect: life: already connected under another name"};
  auto parsed = wire::decode_descriptor(c.descriptor.data(), c.descriptor.size());
  if (!parsed)
    return parsed.error();
  const wire::descriptor& d = parsed.value();
  if (d.life != c.life)
    return {reason::stale_incarnation, "connect: descriptor: of incarnation "
                                         + protocol::to_string(d.life) + ", expected "
                                         + protocol::to_string(c.life)};
  if (d.path != setup_.path)
    return {reason::unsupported, std::string("connect: path: ") + to_string(d.path)
                                   + " there, " + to_string(setup_.path) + " here"};
  peer_record peer;
  peer.name = c.peer;
  peer.life = c.life;
  if (setup_.path == path_kind::shared_arena || setup_.path == path_kind::loopback) {
    auto view = carrier_->view(d);
    if (!view)
      return view.error();
    peer.view = std::move(view.value());
  }
  auto channel = carrier_->open(d);
  if (!channel)
    return channel.error();
  peer.channel = channel.value();
  peer.greeting_deadline = clock::now() + greeting_patience;
  const peer_record& placed = peers_.emplace(c.peer, std::move(peer)).first->second;
  send_to(placed, wire::hello{c.life, setup_.path, true});
  return {};
}

void engine::finish_greeting(peer_record& peer) {
  peer.phase = peer_phase::up;
  peer.last_heard = clock::now();
  peer.read_remotely = setup_.path == path_kind::pull && carrier_->is_read_remotely(peer.channel);
  emit(peer_connected{peer.name, {}, carrier_->path(peer.channel)});
}

void engine::execute(disconnect_command& c) {
  tell(c.peer, wire::farewell{});
  close_peer(c.peer, {reason::peer_lost, "disconnected"});
}

void engine::execute(shutdown_command&) {
  stopping_ = true;
}

/// Silent towards the sink about the peer itself; its pending arrivals are reported.
void engine::close_peer(const node_name& name, const failure& why) {
  const auto at = peers_.find(name);
  if (at == peers_.end())
    return;
  const channel_id channel = at->second.channel;
  peers_.erase(at); // first: no notice is sent on a channel that is going
  fail_pending_of(channel, why);
  carrier_->close(channel);
}

void engine::channel_failed(channel_id channel, failure error) {
  failed_channels_.push_back({channel, std::move(error)});
}

bool engine::is_failed(channel_id channel) const {
  for (const failed_channel& f : failed_channels_)
    if (f.channel == channel)
      return true;
  return false;
}

bool engine::close_failed_channels() {
  const bool any = !failed_channels_.empty();
  while (!failed_channels_.empty()) {
    failed_channel f = std::move(failed_channels_.front());
    failed_channels_.pop_front();
    const peer_record* peer = peer_on(f.channel);
    if (peer == nullptr)
      continue;
    const node_name name = peer->name;
    const bool was_up = peer->phase == peer_phase::up;
    close_peer(name, f.error);
    if (was_up)
      emit(peer_failed{name, std::move(f.error)});
    else
      emit(peer_connected{name, std::move(f.error), {}});
  }
  return any;
}

bool engine::watch_peers() {
  const clock::time_point now = clock::now();
  for (auto& [name, peer] : peers_)
    watch(peer, now);
  return !failed_channels_.empty();
}

void engine::watch(peer_record& peer, clock::time_point now) {
  const auto give_up = [&](const char* what, std::chrono::seconds after) {
    channel_failed(peer.channel, {reason::deadline_passed, std::string(what) + " within "
                                                             + std::to_string(after.count())
                                                             + " s"});
  };
  if (peer.phase == peer_phase::greeting) {
    if (now >= peer.greeting_deadline)
      give_up("connect: the peer did not answer", greeting_patience);
    return;
  }
  const auto silent = now - std::max(peer.last_heard, peer.last_asked);
  if (now - peer.last_heard >= silence_patience) {
    give_up("channel: nothing was heard from the peer", silence_patience);
  } else if (silent >= ping_interval) {
    peer.last_asked = now;
    send_to(peer, wire::hello{peer.life, setup_.path, true});
  }
}

} // namespace baton::transport
