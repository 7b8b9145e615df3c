#include "transport/engine.hpp"

#include "transport/signals_blocked.hpp"

namespace baton::transport {

failure check_limits(const endpoint_limits& limits) {
  const auto zero = [](const char* field) {
    return failure{protocol::reason::bad_input, std::string("endpoint limits: ") + field + ": 0"};
  };
  if (limits.inflight_bytes_max == 0)
    return zero("inflight_bytes_max");
  if (limits.offer_window_bytes == 0)
    return zero("offer_window_bytes");
  if (limits.message_bytes_max == 0)
    return zero("message_bytes_max");
  if (limits.lanes_max == 0)
    return zero("lanes_max");
  return {};
}

engine::engine(engine_setup setup, std::unique_ptr<carrier> way)
  : setup_(std::move(setup)),
    carrier_(std::move(way)),
    table_(setup_.memory->base(), setup_.memory->bytes(), setup_.limits, setup_.check) {
  wire::descriptor d;
  d.path = setup_.path;
  d.life = setup_.life;
  d.address = carrier_->address();
  if (setup_.path == path_kind::shared_arena || setup_.path == path_kind::in_place)
    d.region = setup_.memory->region();
  descriptor_ = wire::encode(d);
  carrier_->attach(*this);
  const signals_blocked block;
  thread_ = std::thread([this] { run(); });
}

engine::~engine() {
  submit(shutdown_command{});
  thread_.join();
  carrier_.reset();
  // A reader in another process may still be at these: reusing the memory would hand it wrong
  // bytes as if they were good, so it stays allocated until the process ends.
  for (auto& [lane, part] : retained_parts_)
    new std::shared_ptr<std::vector<std::byte>>(std::move(part.buffer));
  for (auto& [token, part] : posted_parts_)
    if (part.buffer)
      new std::shared_ptr<std::vector<std::byte>>(std::move(part.buffer));
}

void engine::submit(command c) {
  commands_.push(std::move(c));
  carrier_->wake();
}

void engine::connect(node_name peer, incarnation life, std::vector<std::byte> descriptor) {
  submit(connect_command{std::move(peer), life, std::move(descriptor)});
}
void engine::disconnect(node_name peer) {
  submit(disconnect_command{std::move(peer)});
}
void engine::admit(lane_grant grant) {
  submit(admit_command{std::move(grant)});
}
void engine::revoke(lane_id lane, node_name source) {
  submit(revoke_command{lane, std::move(source)});
}
void engine::send_receipt(lane_id lane, node_name source) {
  submit(receipt_command{lane, std::move(source)});
}
void engine::offer(node_name destination, piece_offer offer) {
  submit(offer_command{std::move(destination), offer});
}
void engine::offer_payload(node_name destination, lane_id lane, std::uint32_t piece,
                           std::vector<std::byte> bytes) {
  submit(payload_command{std::move(destination), lane, piece, std::move(bytes)});
}
void engine::withdraw(lane_id lane, node_name destination) {
  submit(withdraw_command{lane, std::move(destination)});
}
void engine::query(lane_id lane, node_name destination) {
  submit(query_command{lane, std::move(destination)});
}

endpoint::counters engine::read_counters() const {
  const std::lock_guard<std::mutex> lock(counters_mutex_);
  return published_;
}

void engine::measure_moving() {
  const bool moving = !receives_.empty() || !copies_.empty();
  if (!moving && !moving_since_)
    return;
  const clock::time_point now = clock::now();
  if (moving_since_)
    now_.moving_ns += static_cast<std::uint64_t>((now - *moving_since_).count());
  moving_since_ = moving ? std::optional(now) : std::nullopt;
}

void engine::publish_counters() {
  measure_moving();
  now_.receives_outstanding = receives_.size() + copies_.size();
  now_.lanes = table_.size();
  const std::lock_guard<std::mutex> lock(counters_mutex_);
  published_ = now_;
}

void engine::run() {
  // No spinning: where nodes are more than cores, what one burns another lacks.
  while (!stopping_)
    if (!turn())
      rest();
  drain();
}

bool engine::run_commands() {
  std::deque<command> batch = commands_.take_all();
  for (command& c : batch)
    std::visit([this](auto& each) { execute(each); }, c);
  return !batch.empty();
}

/// One round of everything; each step is bounded, so that none keeps the others waiting.
bool engine::turn() {
  bool busy = run_commands();
  busy |= carrier_->progress();
  busy |= close_failed_channels();
  busy |= post_waiting();
  busy |= copy_some();
  busy |= pump_offers();
  busy |= finish_stopping_lanes();
  busy |= watch_peers();
  busy |= tell_landed();
  if (busy)
    publish_counters();
  return busy;
}

void engine::rest() {
  if (may_nap())
    carrier_->nap(nap_time);
  else
    carrier_->sleep(patience_ms());
}

/// Only a source naps, and only while every reader has enough to go on with.
bool engine::may_nap() const {
  if (!receives_.empty() || !waiting_.empty() || !copies_.empty() || !stopping_lanes_.empty())
    return false;
  bool reading = false;
  for (const auto& [name, peer] : peers_) {
    const bool enough = peer.read_remotely && peer.window_bytes >= nap_bytes_min;
    if (peer.phase == peer_phase::greeting || (!enough && !peer.queue.empty()))
      return false;
    reading |= enough;
  }
  return reading;
}

int engine::patience_ms() const {
  bool greeting = false;
  for (const auto& [name, peer] : peers_)
    greeting |= peer.phase == peer_phase::greeting;
  return greeting || !stopping_lanes_.empty() ? 50 : 1000;
}

/// Leaves nothing that could write to the arena afterwards, within drain_patience: receives that
/// have not called back by then end with the carrier, whose progress nobody drives any more.
void engine::drain() {
  copies_.take_all();
  for (const incoming_message& m : waiting_.take_all())
    carrier_->drop(m.handle);
  for (const auto& [name, peer] : peers_)
    send_to(peer, wire::farewell{});
  const clock::time_point said = clock::now() + std::chrono::milliseconds(50);
  while (carrier_->progress() && clock::now() < said) {
    // until the farewells have left
  }
  while (!peers_.empty()) {
    carrier_->close(peers_.begin()->second.channel);
    peers_.erase(peers_.begin());
  }
  const clock::time_point deadline = clock::now() + drain_patience;
  while ((!receives_.empty() || !posted_parts_.empty()) && clock::now() < deadline)
    if (!carrier_->progress())
      carrier_->sleep(1);
}

} // namespace baton::transport
