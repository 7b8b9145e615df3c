#include "tests/transport/nodes.hpp"

using namespace baton::transport;
using namespace baton::transport::testing;
using baton::protocol::reason;

TEST_CASE_TEMPLATE("contiguous pieces arrive with equal bytes and are acknowledged", P,
                   over_loopback, over_pull, over_shared_arena) {
  node_pair nodes(P::path);
  const lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 16, 300'000);
  fill_pattern(nodes.source->at(0), 16 * 300'000, 1);
  fill_poison(*nodes.destination);
  admit(*nodes.destination, grant);
  for (std::uint32_t i = 0; i < 16; ++i)
    nodes.source->device->offer(nodes.destination->name, plain_offer(grant, i));
  wait_landed(*nodes.destination, grant.lane, 16);
  CHECK(std::memcmp(nodes.source->at(0), nodes.destination->at(0), 16 * 300'000) == 0);
  CHECK(all_poison(nodes.destination->at(16 * 300'000), 1 << 20));
  nodes.destination->device->send_receipt(grant.lane, nodes.source->name);
  const auto receipt = nodes.source->events.next<receipt_arrived>();
  REQUIRE(receipt);
  CHECK(receipt->lane == grant.lane);
  CHECK(nodes.destination->device->read_counters().bytes_landed == 16 * 300'000);
}

TEST_CASE_TEMPLATE("1,024 pieces of two lanes land once each", P, over_loopback, over_pull,
                   over_shared_arena) {
  node_options options;
  options.arena_bytes = 160ULL << 20;
  node_pair nodes(P::path, options);
  constexpr std::uint64_t bytes = 128 << 10;
  fill_pattern(nodes.source->at(0), 1024 * bytes, 2);
  std::vector<lane_grant> grants;
  for (std::uint64_t lane = 0; lane < 2; ++lane) {
    lane_grant grant = plain_grant(lane_numbered(lane), nodes.source->life, 512, bytes);
    for (auto& piece : grant.pieces)
      piece.where.offset += lane * 512 * bytes;
    admit(*nodes.destination, grant);
    grants.push_back(std::move(grant));
  }
  for (std::uint32_t piece = 0; piece < 512; ++piece)
    for (const lane_grant& grant : grants)
      nodes.source->device->offer(nodes.destination->name, plain_offer(grant, piece));
  for (const lane_grant& grant : grants)
    wait_landed(*nodes.destination, grant.lane, 512);
  CHECK(std::memcmp(nodes.source->at(0), nodes.destination->at(0), 1024 * bytes) == 0);
  CHECK(nodes.destination->device->read_counters().duplicates == 0);
}

TEST_CASE_TEMPLATE("pieces larger than a message land when all their parts have", P, over_loopback,
                   over_pull, over_shared_arena) {
  node_options options;
  options.limits.message_bytes_max = 1 << 20;
  node_pair nodes(P::path, options);
  constexpr std::uint64_t bytes = (5 << 20) + 12'345;
  const lane_grant grant = plain_grant(lane_numbered(3), nodes.source->life, 3, bytes);
  fill_pattern(nodes.source->at(0), 3 * bytes, 3);
  admit(*nodes.destination, grant);
  for (std::uint32_t i = 0; i < 3; ++i)
    nodes.source->device->offer(nodes.destination->name, plain_offer(grant, i));
  wait_landed(*nodes.destination, grant.lane, 3);
  CHECK(std::memcmp(nodes.source->at(0), nodes.destination->at(0), 3 * bytes) == 0);
}

namespace {

/// The bytes of a layout, in order.
std::vector<std::byte> gather(const node& n, const strided& where) {
  std::vector<std::byte> bytes;
  for (std::uint32_t i = 0; i < where.segments; ++i) {
    const std::byte* at = n.at(where.offset + i * where.stride);
    bytes.insert(bytes.end(), at, at + where.segment_bytes);
  }
  return bytes;
}

/// Moves one piece between two layouts and compares; nothing outside the layout may change.
void move_between(node_pair& nodes, std::uint64_t number, const strided& from, const strided& to) {
  fill_pattern(nodes.source->at(0), nodes.source->memory->bytes(), number);
  fill_poison(*nodes.destination);
  lane_grant grant;
  grant.lane = lane_numbered(number);
  grant.source = nodes.source->life;
  const block_ref block{baton::protocol::block_id{5}, baton::protocol::generation{1}};
  grant.pieces.push_back({block, to});
  admit(*nodes.destination, grant);
  nodes.source->device->offer(nodes.destination->name, {grant.lane, 0, block, from});
  wait_landed(*nodes.destination, grant.lane, 1);
  CHECK(gather(*nodes.source, from) == gather(*nodes.destination, to));
  CHECK(all_poison(nodes.destination->at(0), to.offset));
  for (std::uint32_t i = 0; i + 1 < to.segments; ++i)
    CHECK(all_poison(nodes.destination->at(to.offset + i * to.stride + to.segment_bytes),
                     to.stride - to.segment_bytes));
}

} // namespace

TEST_CASE_TEMPLATE("strided layouts are repartitioned both ways", P, over_loopback, over_pull,
                   over_shared_arena) {
  node_options options;
  options.arena_bytes = 8 << 20;
  options.limits.message_bytes_max = 1 << 20;
  node_pair nodes(P::path, options);
  const std::uint64_t total = 24 * 65'536;
  const strided whole{4096, total, 0, 1};
  const strided narrow{100, 32'768, 50'000, 48};
  const strided wide{8192, 131'072, 200'000, 12};
  const strided odd{7, total / 3, 700'001, 3};
  move_between(nodes, 10, narrow, whole);
  move_between(nodes, 11, whole, narrow);
  move_between(nodes, 12, narrow, wide);
  move_between(nodes, 13, wide, odd);
  move_between(nodes, 14, odd, narrow);
}

TEST_CASE_TEMPLATE("the payload piece arrives as a value", P, over_loopback, over_pull,
                   over_shared_arena) {
  node_pair nodes(P::path);
  for (const std::uint64_t bytes : {1ULL, 200ULL, 9'000ULL, 700'000ULL}) {
    lane_grant grant = plain_grant(lane_numbered(bytes), nodes.source->life, 1, 4096);
    grant.payload_bytes = bytes;
    admit(*nodes.destination, grant);
    std::vector<std::byte> payload(bytes);
    fill_pattern(payload.data(), bytes, bytes);
    nodes.source->device->offer_payload(nodes.destination->name, grant.lane, 1, payload);
    const auto landed = nodes.destination->events.next<piece_landed>();
    REQUIRE(landed);
    CHECK(landed->piece == 1);
    CHECK(landed->payload == payload);
  }
}

TEST_CASE_TEMPLATE("the in-flight budget is respected and nothing starves", P, over_loopback,
                   over_pull, over_shared_arena) {
  node_options options;
  options.limits.inflight_bytes_max = 3 << 20;
  node_pair nodes(P::path, options);
  constexpr std::uint64_t bytes = 1 << 20;
  const lane_grant grant = plain_grant(lane_numbered(4), nodes.source->life, 60, bytes);
  fill_pattern(nodes.source->at(0), 60 * bytes, 4);
  admit(*nodes.destination, grant);
  for (std::uint32_t i = 0; i < 60; ++i)
    nodes.source->device->offer(nodes.destination->name, plain_offer(grant, i));
  wait_landed(*nodes.destination, grant.lane, 60);
  CHECK(std::memcmp(nodes.source->at(0), nodes.destination->at(0), 60 * bytes) == 0);
  nodes.destination->device->send_receipt(grant.lane, nodes.source->name);
  REQUIRE(nodes.source->events.next<receipt_arrived>());
  const auto counters = nodes.destination->device->read_counters();
  CHECK(counters.inflight_bytes_peak <= options.limits.inflight_bytes_max);
  if (P::path == path_kind::pull)
    CHECK(counters.arrivals_deferred > 0);
}

TEST_CASE_TEMPLATE("no piece is refused because others would travel with it", P, over_loopback,
                   over_pull, over_shared_arena) {
  constexpr std::uint64_t bytes = 20'000;
  node_options options;
  options.limits.inflight_bytes_max = bytes;
  options.limits.offer_window_bytes = bytes;
  node_pair nodes(P::path, options);
  const lane_grant grant = plain_grant(lane_numbered(7), nodes.source->life, 40, bytes);
  fill_pattern(nodes.source->at(0), 40 * bytes, 7);
  admit(*nodes.destination, grant);
  for (std::uint32_t i = 0; i < 40; ++i)
    nodes.source->device->offer(nodes.destination->name, plain_offer(grant, i));
  wait_landed(*nodes.destination, grant.lane, 40);
  CHECK(std::memcmp(nodes.source->at(0), nodes.destination->at(0), 40 * bytes) == 0);
}

TEST_CASE_TEMPLATE("a small window moves everything all the same", P, over_loopback, over_pull,
                   over_shared_arena) {
  node_options options;
  options.limits.offer_window_bytes = 1000; // less than one piece
  node_pair nodes(P::path, options);
  const lane_grant grant = plain_grant(lane_numbered(5), nodes.source->life, 40, 50'000);
  fill_pattern(nodes.source->at(0), 40 * 50'000, 5);
  admit(*nodes.destination, grant);
  for (std::uint32_t i = 0; i < 40; ++i)
    nodes.source->device->offer(nodes.destination->name, plain_offer(grant, i));
  wait_landed(*nodes.destination, grant.lane, 40);
  CHECK(std::memcmp(nodes.source->at(0), nodes.destination->at(0), 40 * 50'000) == 0);
}

TEST_CASE("where integrity is sampled one piece in sixteen is digested, in each lane other ones") {
  std::uint32_t digested = 0;
  std::uint32_t alike = 0;
  for (std::uint32_t piece = 0; piece < 1600; ++piece) {
    const bool here = is_digested(integrity::sampled, lane_numbered(1), piece, false);
    const bool there = is_digested(integrity::sampled, lane_numbered(2), piece, false);
    digested += here ? 1 : 0;
    alike += here && there ? 1 : 0;
    CHECK(is_digested(integrity::sampled, lane_numbered(1), piece, true));
    CHECK(is_digested(integrity::all, lane_numbered(1), piece, false));
    CHECK_FALSE(is_digested(integrity::off, lane_numbered(1), piece, true));
  }
  CHECK(digested > 50);
  CHECK(digested < 200);
  CHECK(alike < digested / 2);
}

TEST_CASE_TEMPLATE("a digest follows the pieces that integrity asks for", P, over_loopback,
                   over_pull, over_shared_arena) {
  node_options options;
  SUBCASE("all") { options.check = integrity::all; }
  SUBCASE("sampled") { options.check = integrity::sampled; }
  options.limits.message_bytes_max = 100'000;
  node_pair nodes(P::path, options);
  lane_grant grant = plain_grant(lane_numbered(6), nodes.source->life, 8, 250'000);
  grant.payload_bytes = 3000;
  fill_pattern(nodes.source->at(0), 8 * 250'000, 6);
  admit(*nodes.destination, grant);
  for (std::uint32_t i = 0; i < 8; ++i)
    nodes.source->device->offer(nodes.destination->name, plain_offer(grant, i));
  nodes.source->device->offer_payload(nodes.destination->name, grant.lane, 8,
                                      std::vector<std::byte>(3000));
  wait_landed(*nodes.destination, grant.lane, 9);
  CHECK(std::memcmp(nodes.source->at(0), nodes.destination->at(0), 8 * 250'000) == 0);
}
