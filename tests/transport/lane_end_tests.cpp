#include "tests/transport/nodes.hpp"
#include "transport/digest.hpp"

using namespace baton::transport;
using namespace baton::transport::testing;
using baton::protocol::reason;

TEST_CASE_TEMPLATE("after lane_stopped no byte of a revoked lane changes", P, over_loopback,
                   over_pull, over_shared_arena) {
  node_options options;
  options.limits.inflight_bytes_max = 4 << 20;
  node_pair nodes(P::path, options);
  constexpr std::uint64_t bytes = 1 << 20;
  const lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 48, bytes);
  lane_grant other = plain_grant(lane_numbered(2), nodes.source->life, 12, bytes);
  for (auto& piece : other.pieces)
    piece.where.offset += 48 * bytes;
  fill_pattern(nodes.source->at(0), 60 * bytes, 1);
  fill_poison(*nodes.destination);
  admit(*nodes.destination, grant);
  admit(*nodes.destination, other);
  for (std::uint32_t i = 0; i < 48; ++i)
    nodes.source->device->offer(nodes.destination->name, plain_offer(grant, i));
  wait_landed(*nodes.destination, grant.lane, 2);
  nodes.destination->device->revoke(grant.lane, nodes.source->name);
  REQUIRE(nodes.destination->events.next<lane_stopped>());
  const std::uint64_t before = digest_of(nodes.destination->at(0), 48 * bytes);
  const auto told = nodes.source->events.next<reader_stopped>();
  REQUIRE(told);
  CHECK(told->lane == grant.lane);

  // Offers already on their way come to nothing; the neighbours are served.
  for (std::uint32_t i = 0; i < 12; ++i)
    nodes.source->device->offer(nodes.destination->name, plain_offer(other, i));
  wait_landed(*nodes.destination, other.lane, 12);
  CHECK(digest_of(nodes.destination->at(0), 48 * bytes) == before);
  CHECK(std::memcmp(nodes.source->at(48 * bytes), nodes.destination->at(48 * bytes), 12 * bytes)
        == 0);
  CHECK(nodes.destination->device->read_counters().lanes == 1);
}

TEST_CASE_TEMPLATE("a query is answered by what has become of the lane", P, over_loopback,
                   over_pull, over_shared_arena) {
  node_pair nodes(P::path);
  node& source = *nodes.source;
  node& destination = *nodes.destination;
  constexpr std::uint64_t bytes = 4096;
  const lane_grant received = plain_grant(lane_numbered(1), source.life, 1, bytes);
  const lane_grant stopped = plain_grant(lane_numbered(2), source.life, 1, bytes);
  const lane_grant open = plain_grant(lane_numbered(3), source.life, 1, bytes);
  for (const lane_grant* grant : {&received, &stopped, &open})
    admit(destination, *grant);
  source.device->offer(destination.name, plain_offer(received, 0));
  wait_landed(destination, received.lane, 1);
  destination.device->send_receipt(received.lane, source.name);
  destination.device->revoke(stopped.lane, source.name);
  REQUIRE(destination.events.next<lane_stopped>());
  REQUIRE(source.events.next<receipt_arrived>());
  REQUIRE(source.events.next<reader_stopped>());

  source.device->query(received.lane, destination.name);
  const auto receipt = source.events.next<receipt_arrived>();
  REQUIRE(receipt);
  CHECK(receipt->lane == received.lane);
  source.device->query(stopped.lane, destination.name);
  const auto end = source.events.next<reader_stopped>();
  REQUIRE(end);
  CHECK(end->lane == stopped.lane);
  source.device->query(open.lane, destination.name); // answered by nothing yet
  source.device->query(lane_numbered(50), destination.name);
  const auto unknown = source.events.next<reader_stopped>();
  REQUIRE(unknown);
  CHECK(unknown->lane == lane_numbered(50));
  CHECK(source.events.count<receipt_arrived>() == 0);
}

TEST_CASE_TEMPLATE("a lane whose peer disconnects can still be revoked", P, over_loopback,
                   over_pull, over_shared_arena) {
  node_options options;
  options.limits.inflight_bytes_max = 4 << 20;
  node_pair nodes(P::path, options);
  constexpr std::uint64_t bytes = 1 << 20;
  const lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 60, bytes);
  fill_poison(*nodes.destination);
  admit(*nodes.destination, grant);
  for (std::uint32_t i = 0; i < 60; ++i)
    nodes.source->device->offer(nodes.destination->name, plain_offer(grant, i));
  wait_landed(*nodes.destination, grant.lane, 1);
  nodes.source->device->disconnect(nodes.destination->name);
  nodes.destination->device->revoke(grant.lane, nodes.source->name);
  REQUIRE(nodes.destination->events.next<lane_stopped>());
  const std::uint64_t before = digest_of(nodes.destination->at(0), 60 * bytes);
  REQUIRE(nodes.destination->events.next<peer_failed>());
  CHECK(digest_of(nodes.destination->at(0), 60 * bytes) == before);
  CHECK(nodes.destination->device->read_counters().receives_outstanding == 0);

  introduce(*nodes.source, *nodes.destination); // the same lives may meet again
  const lane_grant next = plain_grant(lane_numbered(2), nodes.source->life, 3, bytes);
  admit(*nodes.destination, next);
  for (std::uint32_t i = 0; i < 3; ++i)
    nodes.source->device->offer(nodes.destination->name, plain_offer(next, i));
  wait_landed(*nodes.destination, next.lane, 3);
}

TEST_CASE_TEMPLATE("endpoints end while pieces are moving", P, over_loopback, over_pull,
                   over_shared_arena) {
  for (const bool source_first : {true, false}) {
    node_pair nodes(P::path);
    const lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 60, 1 << 20);
    admit(*nodes.destination, grant);
    for (std::uint32_t i = 0; i < 60; ++i)
      nodes.source->device->offer(nodes.destination->name, plain_offer(grant, i));
    wait_landed(*nodes.destination, grant.lane, 1);
    node& first = source_first ? *nodes.source : *nodes.destination;
    node& second = source_first ? *nodes.destination : *nodes.source;
    first.device.reset();
    REQUIRE(second.events.next<peer_failed>());
    second.device.reset();
  }
}

TEST_CASE_TEMPLATE("a channel opens only to the life and path that its descriptor names", P,
                   over_loopback, over_pull, over_shared_arena) {
  node_pair nodes(P::path);
  hub& place = nodes.place;
  const std::unique_ptr<node> third = make_node(P::path, place, "D1.0", {});
  const auto expect = [&](const incarnation& life, const std::vector<std::byte>& descriptor,
                          reason why) {
    nodes.source->device->connect(third->name, life, descriptor);
    const auto connected = nodes.source->events.next<peer_connected>();
    REQUIRE(connected);
    CHECK(connected->peer == third->name);
    CHECK(connected->error.why == why);
  };
  std::vector<std::byte> descriptor = third->device->descriptor();
  expect(fresh_life(), descriptor, reason::stale_incarnation);
  expect(nodes.destination->life, descriptor, reason::duplicate);
  descriptor.back() ^= std::byte{1};
  expect(third->life, descriptor, reason::bad_input);
  const path_kind other_path
    = P::path == path_kind::loopback ? path_kind::pull : path_kind::loopback;
  const std::unique_ptr<node> stranger = make_node(other_path, place, "X", {});
  expect(stranger->life, stranger->device->descriptor(), reason::unsupported);
  introduce(*nodes.source, *third);
}
