#include "tests/transport/raw_peer.hpp"

namespace baton::transport::testing {

raw_peer::raw_peer(path_kind path)
  : memory(std::move(arena::create_shared(8 << 20).value())), path_(path) {
  auto worker = ucx_worker::create();
  REQUIRE(worker.ok());
  carrier_ = std::make_unique<ucx_carrier>(path, std::move(worker.value()));
  carrier_->attach(*this);
}

raw_peer::~raw_peer() {
  for (void* handle : kept_)
    carrier_->drop(handle);
}

std::vector<std::byte> raw_peer::descriptor() const {
  return wire::encode(wire::descriptor{path_, life, carrier_->address(), memory.region()});
}

void raw_peer::intrude(node& destination) {
  const auto bytes = destination.device->descriptor();
  const auto parsed = wire::decode_descriptor(bytes.data(), bytes.size());
  REQUIRE(parsed.ok());
  auto channel = carrier_->open(parsed.value());
  REQUIRE(channel.ok());
  channel_ = channel.value();
}

void raw_peer::begin_meeting(node& other) {
  intrude(other);
  other.device->connect(node_name{"raw"}, life, descriptor());
}

void raw_peer::meet(node& other) {
  begin_meeting(other);
  const auto connected = wait<peer_connected>(other);
  REQUIRE_MESSAGE(!connected.error, connected.error.text);
}

void raw_peer::frame_arrived(const std::byte* frame, std::size_t size) {
  const auto decoded = wire::decode(frame, size);
  REQUIRE(decoded.ok());
  const auto* hello = std::get_if<wire::hello>(&decoded.value().body);
  if (hello != nullptr && hello->answer_wanted)
    send(wire::hello{decoded.value().from, path_, false});
}

void raw_peer::send_frame(std::vector<std::byte> frame) {
  carrier_->send(channel_, std::move(frame));
}

void raw_peer::send_part(const wire::message& header, const std::byte* from,
                         std::uint64_t count) {
  carrier_->send_part(channel_, wire::encode(life, header), from, count, true, 1);
}

/// Nothing is received: the source shall think that all is well.
void raw_peer::part_arrived(const std::byte* frame, std::size_t size, const arrival& data) {
  const auto decoded = wire::decode(frame, size);
  REQUIRE(decoded.ok());
  parts_.push_back(decoded.value().body);
  const auto* waiting = std::get_if<waiting_bytes>(&data.where);
  if (waiting != nullptr && keeps_parts_)
    kept_.push_back(waiting->handle);
  else if (waiting != nullptr)
    carrier_->drop(waiting->handle);
}

std::vector<wire::message> raw_peer::wait_parts(std::size_t count) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (parts_.size() < count) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    carrier_->progress();
  }
  return parts_;
}

} // namespace baton::transport::testing
