#include "tests/transport/nodes.hpp"

#include <functional>

using namespace baton::transport;
using namespace baton::transport::testing;
using baton::protocol::block_id;
using baton::protocol::generation;
using baton::protocol::reason;

namespace {

constexpr std::uint64_t bytes = 100'000;

/// Offers something wrong and expects both ends to hear why, and no byte to land.
void expect_refused(node_pair& nodes, const piece_offer& wrong, reason why) {
  nodes.source->device->offer(nodes.destination->name, wrong);
  const auto refused = nodes.destination->events.next<offer_refused>();
  REQUIRE(refused);
  CHECK(refused->error.why == why);
  CHECK(refused->lane == wrong.lane);
  CHECK(refused->piece == wrong.piece);
  const auto rejected = nodes.source->events.next<offer_rejected>();
  REQUIRE(rejected);
  CHECK(rejected->error.why == why);
  CHECK(rejected->piece == wrong.piece);
  CHECK(all_poison(nodes.destination->at(0), 8 * bytes));
}

} // namespace

TEST_CASE_TEMPLATE("an offer that differs from its grant lands no byte", P, over_loopback,
                   over_pull, over_shared_arena) {
  node_pair nodes(P::path);
  fill_poison(*nodes.destination);
  const lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 4, bytes);
  lane_grant foreign = plain_grant(lane_numbered(2), fresh_life(), 4, bytes);
  admit(*nodes.destination, grant);
  admit(*nodes.destination, foreign);

  piece_offer wrong = plain_offer(grant, 1);
  wrong.block.gen = generation{6};
  expect_refused(nodes, wrong, reason::stale_generation);
  wrong = plain_offer(grant, 1);
  wrong.block.gen = generation{8};
  expect_refused(nodes, wrong, reason::stale_generation);
  wrong = plain_offer(grant, 1);
  wrong.block.block = block_id{2};
  expect_refused(nodes, wrong, reason::bad_input);
  wrong = plain_offer(grant, 1);
  wrong.piece = 4;
  expect_refused(nodes, wrong, reason::out_of_range);
  wrong = plain_offer(grant, 1);
  wrong.where.segment_bytes = bytes - 1;
  expect_refused(nodes, wrong, reason::bad_input);
  wrong = plain_offer(grant, 1);
  wrong.where.segment_bytes = bytes + 1;
  expect_refused(nodes, wrong, reason::bad_input);
  wrong = plain_offer(grant, 1);
  wrong.lane = lane_numbered(77);
  expect_refused(nodes, wrong, reason::not_found);
  expect_refused(nodes, plain_offer(foreign, 0), reason::stale_incarnation);

  CHECK(nodes.destination->device->read_counters().bytes_landed == 0);
  nodes.source->device->offer(nodes.destination->name, plain_offer(grant, 1));
  wait_landed(*nodes.destination, grant.lane, 1);
}

TEST_CASE_TEMPLATE("duplicate offers are ignored and counted, also after the receipt", P,
                   over_loopback, over_pull, over_shared_arena) {
  node_pair nodes(P::path);
  const lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 4, bytes);
  const lane_grant fence = plain_grant(lane_numbered(2), nodes.source->life, 1, bytes);
  admit(*nodes.destination, grant);
  admit(*nodes.destination, fence);
  const auto offer = [&](const lane_grant& g, std::uint32_t piece) {
    nodes.source->device->offer(nodes.destination->name, plain_offer(g, piece));
  };
  for (const std::uint32_t piece : {0U, 1U, 0U, 1U, 2U, 2U, 2U, 3U})
    offer(grant, piece);
  wait_landed(*nodes.destination, grant.lane, 4);
  nodes.destination->device->send_receipt(grant.lane, nodes.source->name);
  REQUIRE(nodes.source->events.next<receipt_arrived>());
  offer(grant, 3);
  offer(fence, 0); // offers are judged in order: when this one lands the others were
  wait_landed(*nodes.destination, fence.lane, 1);
  nodes.destination->device->revoke(fence.lane, nodes.source->name);
  REQUIRE(nodes.destination->events.next<lane_stopped>());
  nodes.destination->device->revoke(lane_numbered(9), nodes.source->name);
  REQUIRE(nodes.destination->events.next<lane_stopped>());
  CHECK(nodes.destination->device->read_counters().duplicates == 5);
  CHECK(nodes.destination->events.count<piece_landed>() == 0);
  CHECK(nodes.destination->device->read_counters().bytes_landed == 5 * bytes);
}

TEST_CASE_TEMPLATE("a malformed grant is refused as a whole", P, over_loopback, over_pull,
                   over_shared_arena) {
  node_options options;
  options.limits.lanes_max = 2;
  node_pair nodes(P::path, options);
  const auto expect = [&](const std::function<void(lane_grant&)>& spoil, reason why) {
    lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 4, bytes);
    spoil(grant);
    nodes.destination->device->admit(grant);
    const auto refused = nodes.destination->events.next<offer_refused>();
    REQUIRE(refused);
    CHECK(refused->piece == UINT32_MAX);
    CHECK(refused->error.why == why);
  };
  expect([](lane_grant& g) { g.pieces[3].where.offset = 64ULL << 20; }, reason::out_of_range);
  expect([](lane_grant& g) { g.pieces[3].where.offset = UINT64_MAX - 10; }, reason::out_of_range);
  expect([](lane_grant& g) { g.pieces[3].where.segments = 0; }, reason::bad_input);
  expect([](lane_grant& g) { g.pieces[3].where.segment_bytes = 0; }, reason::bad_input);
  expect([](lane_grant& g) { g.pieces[3].where = {0, 100, 99, 2}; }, reason::bad_input);
  expect([](lane_grant& g) { g.pieces[3].where = {0, 100, 1ULL << 62, 9}; },
         reason::out_of_range);
  expect([](lane_grant& g) { g.payload_bytes = (1 << 20) + 1; }, reason::no_capacity);
  expect([](lane_grant& g) { g.pieces.clear(); }, reason::bad_input);
  admit(*nodes.destination, plain_grant(lane_numbered(1), nodes.source->life, 4, bytes));
  expect([](lane_grant&) {}, reason::duplicate);
  admit(*nodes.destination, plain_grant(lane_numbered(2), nodes.source->life, 4, bytes));
  expect([](lane_grant& g) { g.lane = lane_numbered(3); }, reason::queue_full);
}

TEST_CASE_TEMPLATE("a lane that has ended is not admitted again", P, over_loopback, over_pull,
                   over_shared_arena) {
  node_pair nodes(P::path);
  const lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 1, bytes);
  nodes.destination->device->revoke(grant.lane, nodes.source->name); // before its grant came
  REQUIRE(nodes.destination->events.next<lane_stopped>());
  nodes.destination->device->admit(grant);
  const auto refused = nodes.destination->events.next<offer_refused>();
  REQUIRE(refused);
  CHECK(refused->error.why == reason::duplicate);
}

TEST_CASE_TEMPLATE("offers that cannot leave are rejected at the source", P, over_loopback,
                   over_pull, over_shared_arena) {
  node_pair nodes(P::path);
  const lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 1, bytes);
  const auto expect = [&](const char* destination, const strided& where, reason why) {
    piece_offer offer = plain_offer(grant, 0);
    offer.where = where;
    nodes.source->device->offer(node_name{destination}, offer);
    const auto rejected = nodes.source->events.next<offer_rejected>();
    REQUIRE(rejected);
    CHECK(rejected->error.why == why);
  };
  expect("D0.0", {64ULL << 20, 1, 1, 1}, reason::out_of_range);
  expect("D0.0", {UINT64_MAX, 2, 2, 1}, reason::out_of_range);
  expect("D0.0", {0, 0, 0, 1}, reason::bad_input);
  expect("D0.0", {0, 10, 5, 3}, reason::bad_input);
  expect("D0.1", {0, bytes, 0, 1}, reason::peer_lost);
  nodes.source->device->offer_payload(nodes.destination->name, grant.lane, 1, {});
  const auto rejected = nodes.source->events.next<offer_rejected>();
  REQUIRE(rejected);
  CHECK(rejected->error.why == reason::bad_input);
}

TEST_CASE_TEMPLATE("withdrawn offers are not posted any more", P, over_loopback, over_pull,
                   over_shared_arena) {
  node_options options;
  options.limits.offer_window_bytes = 1;
  node_pair nodes(P::path, options);
  const lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 100, bytes);
  const lane_grant fence = plain_grant(lane_numbered(2), nodes.source->life, 1, bytes);
  admit(*nodes.destination, grant);
  admit(*nodes.destination, fence);
  for (std::uint32_t piece = 0; piece < 100; ++piece)
    nodes.source->device->offer(nodes.destination->name, plain_offer(grant, piece));
  nodes.source->device->withdraw(grant.lane, nodes.destination->name);
  nodes.source->device->offer(nodes.destination->name, plain_offer(fence, 0));
  wait_landed(*nodes.destination, fence.lane, 1);
  CHECK(nodes.destination->events.count<piece_landed>() < 100);
}
