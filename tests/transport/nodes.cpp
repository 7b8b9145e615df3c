#include "tests/transport/nodes.hpp"

#include <random>

namespace baton::transport::testing {

incarnation fresh_life() {
  static std::random_device device;
  incarnation life;
  life.high = (static_cast<std::uint64_t>(device()) << 32) | device();
  life.low = (static_cast<std::uint64_t>(device()) << 32) | device();
  return life;
}

std::unique_ptr<node> make_node(path_kind path, hub& place, const std::string& name,
                                const node_options& options) {
  const bool shared = path == path_kind::shared_arena || path == path_kind::in_place;
  auto memory = shared ? arena::create_shared(options.arena_bytes)
                       : arena::create_private(options.arena_bytes);
  REQUIRE(memory.ok());
  return make_node(path, place, name, options, std::move(memory.value()));
}

std::unique_ptr<node> make_node(path_kind path, hub& place, const std::string& name,
                                const node_options& options, arena memory) {
  auto made = std::make_unique<node>();
  made->name = node_name{name};
  made->life = fresh_life();
  made->memory = std::make_unique<arena>(std::move(memory));
  recorder& events = made->events;
  const transfer_sink sink = [&events](transfer_event e) { events.record(std::move(e)); };
  auto device = path == path_kind::loopback
                  ? make_loopback(place, made->name, made->life, *made->memory, options.limits,
                                  sink, options.check)
                  : make_ucx(path, made->life, *made->memory, options.limits, sink,
                             options.check);
  REQUIRE_MESSAGE(device.ok(), device.error().text);
  made->device = std::move(device.value());
  return made;
}

void introduce(node& a, node& b) {
  a.device->connect(b.name, b.life, b.device->descriptor());
  b.device->connect(a.name, a.life, a.device->descriptor());
  for (node* n : {&a, &b}) {
    const auto connected = n->events.next<peer_connected>();
    REQUIRE(connected);
    REQUIRE_MESSAGE(!connected->error, connected->error.text);
  }
}

node_pair::node_pair(path_kind path, const node_options& options)
  : source(make_node(path, place, "P0.0", options)),
    destination(make_node(path, place, "D0.0", options)) {
  introduce(*source, *destination);
}

lane_id lane_numbered(std::uint64_t n) {
  lane_id lane;
  lane.reservation.owner = {1, 2};
  lane.reservation.number = n;
  lane.source.value = 0;
  lane.destination.value = 1;
  return lane;
}

lane_grant plain_grant(lane_id lane, incarnation source, std::uint32_t pieces,
                       std::uint64_t piece_bytes) {
  lane_grant grant;
  grant.lane = lane;
  grant.source = source;
  for (std::uint32_t i = 0; i < pieces; ++i)
    grant.pieces.push_back(
      {{protocol::block_id{i}, protocol::generation{7}}, {i * piece_bytes, piece_bytes, 0, 1}});
  return grant;
}

piece_offer plain_offer(const lane_grant& grant, std::uint32_t piece) {
  return {grant.lane, piece, grant.pieces[piece].block, grant.pieces[piece].where};
}

void fill_pattern(std::byte* at, std::uint64_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t value = random();
    std::memcpy(at + i, &value, std::min<std::uint64_t>(8, bytes - i));
  }
}

void fill_poison(node& n) {
  std::memset(n.memory->base(), static_cast<int>(poison), n.memory->bytes());
}

bool all_poison(const std::byte* at, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; ++i)
    if (at[i] != poison)
      return false;
  return true;
}

void admit(node& destination, const lane_grant& grant) {
  destination.device->admit(grant);
  const auto admitted = destination.events.next<lane_admitted>(
    [&](const lane_admitted& e) { return e.lane == grant.lane; });
  REQUIRE(admitted);
}

void wait_landed(node& destination, lane_id lane, std::size_t count) {
  std::set<std::uint32_t> landed;
  while (landed.size() < count) {
    const auto piece = destination.events.next<piece_landed>(
      [&](const piece_landed& e) { return e.lane == lane; });
    REQUIRE(piece);
    REQUIRE(landed.insert(piece->piece).second);
  }
}

} // namespace baton::transport::testing
