#include "tests/transport/raw_peer.hpp"

namespace baton::transport::testing {

raw_peer::raw_peer(path_kind path)
  : memory(std::move(arena::create_shared(8 << 20).value())), path_(path) {
  auto worker = ucx_worker::create();
  REQUIRE(worker.ok());
  carrier_ = std::make_unique<ucx_carrier>(path, std::move(worker.value()));
  carrier_->attach(*this);
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

void raw_peer::meet(node& destination) {
  intrude(destination);
  destination.device->connect(node_name{"raw"}, life, descriptor());
  const auto connected = wait<peer_connected>(destination);
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

void raw_peer::send_part(const wire::part_header& header, const std::byte* from,
                         std::uint64_t count) {
  carrier_->send_part(channel_, wire::encode(life, header), from, count, true, 1);
}

} // namespace baton::transport::testing
