// In place: the source writes into the destination's memory, which it has mapped, and announces it.
#include "tests/transport/roles.hpp"

#include "transport/digest.hpp"

using namespace baton::transport;
using namespace baton::transport::testing;
using baton::protocol::block_id;
using baton::protocol::generation;
using baton::protocol::reason;

namespace {

constexpr std::uint64_t bytes = 100'000;
constexpr std::uint64_t page = writer_page_bytes;

arena window_to(const arena& peer) {
  auto window = arena::reserve_window(peer.bytes());
  REQUIRE(window.ok());
  REQUIRE_FALSE(window.value().map_peer(*peer.region()));
  return std::move(window.value());
}

/// A source whose arena is a window to the destination's.
struct mapped_pair {
  explicit mapped_pair(const node_options& options = {})
    : destination(make_node(path_kind::in_place, place, "D0.0", options)),
      source(make_node(path_kind::in_place, place, "P0.0", options,
                       window_to(*destination->memory))) {
    introduce(*source, *destination);
  }
  void offer(const piece_offer& o) { source->device->offer(destination->name, o); }

  hub place;
  std::unique_ptr<node> destination;
  std::unique_ptr<node> source;
};

void expect_refused(mapped_pair& nodes, const piece_offer& wrong, reason why) {
  nodes.offer(wrong);
  const auto refused = nodes.destination->events.next<offer_refused>();
  REQUIRE(refused);
  CHECK(refused->error.why == why);
  CHECK(refused->lane == wrong.lane);
  CHECK(refused->piece == wrong.piece);
  const auto rejected = nodes.source->events.next<offer_rejected>();
  REQUIRE(rejected);
  CHECK(rejected->error.why == why);
}

/// The count that a writer has brought a page to, as seen there.
std::uint64_t count_at(const std::byte* at) {
  std::uint64_t count = 0;
  std::memcpy(&count, at, sizeof count);
  return count;
}

/// Until the writer has written the page once more; false if it does not.
bool is_written(const std::byte* at) {
  const auto end = std::chrono::steady_clock::now() + patience;
  const std::uint64_t before = count_at(at);
  while (count_at(at) == before)
    if (std::chrono::steady_clock::now() > end)
      return false;
  return true;
}

} // namespace

TEST_CASE("pieces that are written in place land with no byte moved, and the payload travels") {
  for (const integrity check : {integrity::off, integrity::all}) {
    node_options options;
    options.check = check;
    mapped_pair nodes(options);
    lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 8, bytes);
    grant.payload_bytes = 64;
    admit(*nodes.destination, grant);
    fill_pattern(nodes.source->at(0), 8 * bytes, 5);
    for (std::uint32_t piece = 0; piece < 8; ++piece)
      nodes.offer(plain_offer(grant, piece));
    for (std::uint32_t i = 0; i < 8; ++i) {
      const auto landed = nodes.destination->events.next<piece_landed>();
      REQUIRE(landed);
      CHECK(landed->bytes == 0);
      CHECK(landed->block == grant.pieces.at(landed->piece).block);
    }
    CHECK(std::memcmp(nodes.source->at(0), nodes.destination->at(0), 8 * bytes) == 0);
    nodes.source->device->offer_payload(nodes.destination->name, grant.lane, 8,
                                        std::vector<std::byte>(64, std::byte{7}));
    const auto payload = nodes.destination->events.next<piece_landed>();
    REQUIRE(payload);
    CHECK(payload->payload == std::vector<std::byte>(64, std::byte{7}));
    nodes.destination->device->send_receipt(grant.lane, nodes.source->name);
    REQUIRE(nodes.source->events.next<receipt_arrived>());
    nodes.destination->device->revoke(grant.lane, nodes.source->name);
    REQUIRE(nodes.destination->events.next<lane_stopped>());
    CHECK(nodes.destination->device->read_counters().bytes_landed == 64);
  }
}

TEST_CASE("a notice of a written piece that differs from its grant counts nothing") {
  mapped_pair nodes;
  lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 4, bytes);
  grant.payload_bytes = bytes;
  const lane_grant foreign = plain_grant(lane_numbered(2), fresh_life(), 4, bytes);
  admit(*nodes.destination, grant);
  admit(*nodes.destination, foreign);

  piece_offer wrong = plain_offer(grant, 1);
  wrong.block.gen = generation{6};
  expect_refused(nodes, wrong, reason::stale_generation);
  wrong = plain_offer(grant, 1);
  wrong.block.block = block_id{2};
  expect_refused(nodes, wrong, reason::bad_input);
  wrong = plain_offer(grant, 1);
  wrong.where.offset += 8; // the right size, where another block lies
  expect_refused(nodes, wrong, reason::bad_input);
  wrong = plain_offer(grant, 1);
  wrong.lane = lane_numbered(77);
  expect_refused(nodes, wrong, reason::not_found);
  expect_refused(nodes, plain_offer(foreign, 0), reason::stale_incarnation);
  wrong = plain_offer(grant, 0);
  wrong.piece = 4; // the payload, without its bytes
  wrong.block = {};
  expect_refused(nodes, wrong, reason::bad_input);

  CHECK(nodes.destination->events.count<piece_landed>() == 0);
  nodes.offer(plain_offer(grant, 1)); // what was refused before may still come
  wait_landed(*nodes.destination, grant.lane, 1);
  nodes.offer(plain_offer(grant, 1));
  nodes.offer(plain_offer(grant, 2)); // notices are judged in order
  wait_landed(*nodes.destination, grant.lane, 1);
  nodes.destination->device->revoke(grant.lane, nodes.source->name);
  REQUIRE(nodes.destination->events.next<lane_stopped>());
  CHECK(nodes.destination->device->read_counters().duplicates == 1);
  expect_refused(nodes, plain_offer(grant, 3), reason::not_found);
}

TEST_CASE("a writer whose pages were replaced is found out by the digest") {
  node_options options;
  options.check = integrity::all;
  mapped_pair nodes(options);
  const lane_grant grant = plain_grant(lane_numbered(1), nodes.source->life, 2, 16 * page);
  admit(*nodes.destination, grant);
  REQUIRE_FALSE(nodes.destination->memory->replace_pages(0, 16 * page));
  fill_pattern(nodes.source->at(0), 32 * page, 5);
  expect_refused(nodes, plain_offer(grant, 0), reason::corrupt);
  nodes.offer(plain_offer(grant, 1)); // its neighbour still is where both sides see it
  wait_landed(*nodes.destination, grant.lane, 1);
}

TEST_CASE("replaced pages are out of a running writer's reach, and it goes on unharmed") {
  hub unused;
  node_options options;
  options.arena_bytes = 64 * page;
  const auto here = make_node(path_kind::in_place, unused, "D0.0", options);
  const arena old_view = window_to(*here->memory);
  child writer("writer");
  writer.meet();
  writer.give(*here);
  REQUIRE(is_written(here->at(63 * page)));

  REQUIRE_FALSE(here->memory->replace_pages(16 * page, 32 * page));
  fill_pattern(here->at(16 * page), 32 * page, 3);
  const std::uint64_t digest = digest_of(here->at(16 * page), 32 * page);
  for (int round = 0; round < 40; ++round) {
    REQUIRE(is_written(here->at(15 * page))); // before and behind: still shared
    REQUIRE(is_written(here->at(48 * page)));
    REQUIRE(is_written(old_view.base() + 16 * page)); // it writes on, into pages of its own
    REQUIRE(digest_of(here->at(16 * page), 32 * page) == digest);
  }
  CHECK(writer.runs());
  writer.kill_and_reap();
  CHECK(digest_of(here->at(16 * page), 32 * page) == digest);
}

TEST_CASE("pages are replaced in a shared arena only, and whole") {
  auto shared = arena::create_shared(64 * page);
  auto alone = arena::create_private(64 * page);
  REQUIRE(shared.ok());
  REQUIRE(alone.ok());
  arena window = window_to(shared.value());
  CHECK(window.replace_pages(0, page).why == reason::bad_input);
  CHECK(alone.value().replace_pages(0, page).why == reason::bad_input);
  CHECK(shared.value().replace_pages(100, page).why == reason::bad_input);
  CHECK(shared.value().replace_pages(0, 100).why == reason::bad_input);
  CHECK(shared.value().replace_pages(0, 0).why == reason::out_of_range);
  CHECK(shared.value().replace_pages(64 * page, page).why == reason::out_of_range);
  CHECK(shared.value().replace_pages(page, UINT64_MAX - 4095).why == reason::out_of_range);
}

TEST_CASE("a window takes one peer's arena, of its own size, and keeps it") {
  auto first = arena::create_shared(64 * page);
  auto second = arena::create_shared(64 * page);
  auto larger = arena::create_shared(65 * page);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  REQUIRE(larger.ok());
  auto reserved = arena::reserve_window(64 * page);
  REQUIRE(reserved.ok());
  arena window = std::move(reserved.value());
  std::byte* const base = window.base();
  CHECK_FALSE(window.region());
  CHECK(window.map_peer(*larger.value().region()).why == reason::no_capacity);
  wire::shared_region wrong = *first.value().region();
  wrong.nonce_low ^= 1;
  CHECK(window.map_peer(wrong).why == reason::stale_incarnation);
  CHECK_FALSE(window.map_peer(*first.value().region()));
  CHECK_FALSE(window.map_peer(*first.value().region()));
  CHECK(window.map_peer(*second.value().region()).why == reason::stale_incarnation);
  CHECK(window.base() == base);
  CHECK(first.value().map_peer(*second.value().region()).why == reason::bad_input);
  fill_pattern(window.base(), 64 * page, 1);
  CHECK(std::memcmp(window.base(), first.value().base(), 64 * page) == 0);
  first = arena::create_shared(64 * page); // the peer goes; its memory stays for who has it mapped
  fill_pattern(window.base(), 64 * page, 2);
}
