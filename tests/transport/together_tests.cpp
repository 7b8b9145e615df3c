// What travels together is judged, counted and refused one by one.
#include "tests/transport/raw_peer.hpp"

using namespace baton::transport;
using namespace baton::transport::testing;
using baton::protocol::block_id;
using baton::protocol::generation;
using baton::protocol::reason;

namespace {

constexpr std::uint64_t bytes = 100'000;

std::unique_ptr<node> make_one(path_kind path, const node_options& options = {}) {
  hub unused;
  auto made = make_node(path, unused, "N", options);
  fill_poison(*made);
  return made;
}

/// Pieces first..last of a grant as one run, without digests.
wire::run_header run_of(const lane_grant& grant, std::uint32_t first, std::uint32_t last) {
  wire::run_header run{grant.lane, {}};
  for (std::uint32_t i = first; i <= last; ++i)
    run.pieces.push_back({i, grant.pieces[i].block, bytes, std::nullopt});
  return run;
}

wire::announcement announce(const lane_grant& grant, std::uint32_t piece) {
  return {grant.lane, piece, grant.pieces[piece].block, grant.pieces[piece].where, std::nullopt};
}

/// Returns when the node's endpoint has executed everything that it was asked so far.
void wait_executed(node& n) {
  n.device->offer(node_name{"nobody"}, {lane_numbered(0), 0, {}, {0, 1, 0, 1}});
  REQUIRE(n.events.next<offer_rejected>());
}

/// A destination that has admitted eight pieces of a raw peer, which has filled its memory.
struct raw_pair {
  explicit raw_pair(path_kind path) : destination(make_one(path)), raw(path) {
    raw.meet(*destination);
    grant = plain_grant(lane_numbered(1), raw.life, 8, bytes);
    fill_pattern(raw.memory.base(), 8 * bytes, 1);
  }
  bool landed_right(std::uint32_t piece) const {
    return std::memcmp(raw.memory.base() + piece * bytes, destination->at(piece * bytes), bytes)
           == 0;
  }
  bool untouched(std::uint32_t piece) const {
    return all_poison(destination->at(piece * bytes), bytes);
  }

  std::unique_ptr<node> destination;
  raw_peer raw;
  lane_grant grant;
};

} // namespace

TEST_CASE("pull: a piece that is wrong in the middle of a run is refused alone") {
  raw_pair pair(path_kind::pull);
  admit(*pair.destination, pair.grant);
  wire::run_header run = run_of(pair.grant, 0, 4);
  run.pieces[2].block.gen = generation{6};
  pair.raw.send_part(run, pair.raw.memory.base(), 5 * bytes);
  const auto refused = pair.raw.wait<offer_refused>(*pair.destination);
  CHECK(refused.piece == 2);
  CHECK(refused.error.why == reason::stale_generation);
  for (const std::uint32_t piece : {0U, 1U, 3U, 4U}) {
    CHECK(pair.raw.wait<piece_landed>(*pair.destination).piece == piece);
    CHECK(pair.landed_right(piece));
  }
  CHECK(pair.untouched(2));
  CHECK(pair.untouched(5));
  pair.raw.send_part(run_of(pair.grant, 2, 2), pair.raw.memory.base() + 2 * bytes, bytes);
  CHECK(pair.raw.wait<piece_landed>(*pair.destination).piece == 2);
  CHECK(pair.landed_right(2));
}

TEST_CASE("pull: a piece of a run that has landed before is a duplicate, and not written again") {
  raw_pair pair(path_kind::pull);
  admit(*pair.destination, pair.grant);
  pair.raw.send_part(run_of(pair.grant, 1, 1), pair.raw.memory.base() + bytes, bytes);
  CHECK(pair.raw.wait<piece_landed>(*pair.destination).piece == 1);
  const std::vector<std::byte> first(pair.destination->at(bytes), pair.destination->at(2 * bytes));
  fill_pattern(pair.raw.memory.base(), 8 * bytes, 2);
  pair.raw.send_part(run_of(pair.grant, 0, 2), pair.raw.memory.base(), 3 * bytes);
  CHECK(pair.raw.wait<piece_landed>(*pair.destination).piece == 0);
  CHECK(pair.raw.wait<piece_landed>(*pair.destination).piece == 2);
  CHECK(pair.landed_right(0));
  CHECK(pair.landed_right(2));
  CHECK(std::memcmp(first.data(), pair.destination->at(bytes), bytes) == 0);
  pair.destination->device->revoke(lane_numbered(9), pair.destination->name);
  pair.raw.wait<lane_stopped>(*pair.destination);
  CHECK(pair.destination->device->read_counters().duplicates == 1);
}

TEST_CASE("pull: pieces of a run land where the grant says, neighbours or not") {
  raw_pair pair(path_kind::pull);
  for (std::uint32_t i = 0; i < 8; ++i)
    pair.grant.pieces[i].where.offset = ((i * 3) % 8) * 2 * bytes;
  pair.grant.pieces[5].where = {20 * bytes, bytes / 4, bytes, 4}; // and not even contiguous
  admit(*pair.destination, pair.grant);
  pair.raw.send_part(run_of(pair.grant, 0, 7), pair.raw.memory.base(), 8 * bytes);
  for (std::uint32_t i = 0; i < 8; ++i) {
    CHECK(pair.raw.wait<piece_landed>(*pair.destination).piece == i);
    const strided& where = pair.grant.pieces[i].where;
    for (std::uint64_t s = 0; s < where.segments; ++s)
      CHECK(std::memcmp(pair.raw.memory.base() + i * bytes + s * where.segment_bytes,
                        pair.destination->at(where.offset + s * where.stride),
                        where.segment_bytes)
            == 0);
  }
  CHECK(pair.untouched(1));
  CHECK(pair.untouched(3));
}

TEST_CASE("pull: a run of another size than its pieces is refused, each by its number") {
  raw_pair pair(path_kind::pull);
  admit(*pair.destination, pair.grant);
  const auto expect = [&](const wire::run_header& run, std::uint64_t sent, reason why) {
    pair.raw.send_part(run, pair.raw.memory.base(), sent);
    for (const wire::run_piece& piece : run.pieces) {
      const auto refused = pair.raw.wait<offer_refused>(*pair.destination);
      CHECK(refused.piece == piece.piece);
      CHECK(refused.error.why == why);
    }
    CHECK(all_poison(pair.destination->at(0), 8 * bytes));
  };
  const wire::run_header good = run_of(pair.grant, 2, 4);
  expect(good, 3 * bytes - 1, reason::bad_input);
  expect(good, 3 * bytes + 1, reason::bad_input);
  wire::run_header bad = good;
  bad.pieces[0].bytes = UINT64_MAX; // their sum wraps round to the size that was sent
  bad.pieces[1].bytes = 2 * bytes + 1;
  expect(bad, 3 * bytes, reason::bad_input);
  bad = good;
  bad.pieces[0].bytes -= 1; // the sum is right, but neither of them
  bad.pieces[1].bytes += 1;
  bad.pieces.pop_back();
  expect(bad, 2 * bytes, reason::bad_input);
  pair.raw.send(good); // without its bytes
  for (std::uint32_t piece = 2; piece <= 4; ++piece)
    CHECK(pair.raw.wait<offer_refused>(*pair.destination).piece == piece);
  pair.raw.send_part(good, pair.raw.memory.base() + 2 * bytes, 3 * bytes);
  for (std::uint32_t piece = 2; piece <= 4; ++piece) {
    CHECK(pair.raw.wait<piece_landed>(*pair.destination).piece == piece);
    CHECK(pair.landed_right(piece));
  }
}

TEST_CASE("pull: a run of a revoked lane, or of a life that is not connected, lands no byte") {
  raw_pair pair(path_kind::pull);
  admit(*pair.destination, pair.grant);
  pair.destination->device->revoke(pair.grant.lane, node_name{"raw"});
  pair.raw.wait<lane_stopped>(*pair.destination);
  pair.raw.send_part(run_of(pair.grant, 0, 1), pair.raw.memory.base(), 2 * bytes);
  for (std::uint32_t piece = 0; piece < 2; ++piece)
    CHECK(pair.raw.wait<offer_refused>(*pair.destination).error.why == reason::not_found);
  raw_peer stranger(path_kind::pull);
  stranger.intrude(*pair.destination);
  stranger.send_part(run_of(pair.grant, 0, 1), stranger.memory.base(), 2 * bytes);
  for (std::uint32_t piece = 0; piece < 2; ++piece)
    CHECK(stranger.wait<offer_refused>(*pair.destination).error.why == reason::stale_incarnation);
  CHECK(all_poison(pair.destination->at(0), 8 * bytes));
}

TEST_CASE("shared_arena: of pieces announced together only the wrong one is refused") {
  raw_pair pair(path_kind::shared_arena);
  admit(*pair.destination, pair.grant);
  lane_grant other = plain_grant(lane_numbered(2), pair.raw.life, 8, bytes);
  admit(*pair.destination, other);
  wire::announcements together{{announce(pair.grant, 0), announce(pair.grant, 1),
                                announce(pair.grant, 0), announce(other, 5)}};
  together.pieces[1].block.block = block_id{99};
  pair.raw.send(together);
  const auto refused = pair.raw.wait<offer_refused>(*pair.destination);
  CHECK(refused.piece == 1);
  CHECK(refused.error.why == reason::bad_input);
  for (const std::uint32_t piece : {0U, 5U}) {
    CHECK(pair.raw.wait<piece_landed>(*pair.destination).piece == piece);
    CHECK(pair.landed_right(piece));
  }
  CHECK(pair.untouched(1));
  CHECK(pair.destination->device->read_counters().bytes_landed == 2 * bytes);
}

TEST_CASE("pull: what neighbours on both sides leaves in one message of at most 2 MiB") {
  const auto source = make_one(path_kind::pull);
  raw_peer raw(path_kind::pull);
  raw.begin_meeting(*source); // offers wait until the peer answers
  constexpr std::uint64_t block_bytes = 512 << 10;
  lane_grant grant = plain_grant(lane_numbered(1), source->life, 11, block_bytes);
  grant.pieces[6].block.block = block_id{66};      // the destination's block is elsewhere
  grant.pieces[9].where.offset = 40 * block_bytes; // the source's is
  for (std::uint32_t piece = 0; piece < 11; ++piece)
    source->device->offer(node_name{"raw"}, plain_offer(grant, piece));
  wait_executed(*source);
  REQUIRE_FALSE(raw.wait<peer_connected>(*source).error);
  std::vector<std::vector<std::uint32_t>> messages;
  for (const wire::message& m : raw.wait_parts(6)) {
    messages.emplace_back();
    if (const auto* part = std::get_if<wire::part_header>(&m))
      messages.back().push_back(part->piece);
    else
      for (const wire::run_piece& p : std::get<wire::run_header>(m).pieces)
        messages.back().push_back(p.piece);
  }
  using numbers = std::vector<std::uint32_t>;
  CHECK(messages
        == std::vector<numbers>{{0, 1, 2, 3}, {4, 5}, {6}, {7, 8}, {9}, {10}});
}

TEST_CASE("pull: a lane that comes when others have filled the window is offered at once") {
  node_options options;
  options.limits.offer_window_bytes = 10 * bytes;
  const auto source = make_one(path_kind::pull, options);
  raw_peer raw(path_kind::pull);
  raw.begin_meeting(*source);
  lane_grant first = plain_grant(lane_numbered(1), source->life, 40, bytes);
  lane_grant late = plain_grant(lane_numbered(2), source->life, 5, bytes);
  for (lane_grant* grant : {&first, &late})
    for (std::uint32_t i = 0; i < grant->pieces.size(); ++i)
      grant->pieces[i].block.block = block_id{2 * i}; // no neighbours: one message each
  for (std::uint32_t piece = 0; piece < 40; ++piece)
    source->device->offer(node_name{"raw"}, plain_offer(first, piece));
  wait_executed(*source);
  raw.keep_parts(); // unread, they fill the window
  REQUIRE_FALSE(raw.wait<peer_connected>(*source).error);
  raw.wait_parts(10);
  for (std::uint32_t piece = 0; piece < 5; ++piece)
    source->device->offer(node_name{"raw"}, plain_offer(late, piece));
  const auto messages = raw.wait_parts(15);
  for (std::size_t i = 0; i < 15; ++i)
    CHECK(std::get<wire::part_header>(messages[i]).lane == (i < 10 ? first.lane : late.lane));
}

TEST_CASE("pull: a source whose reader has enough to read still hears commands and words") {
  const auto source = make_one(path_kind::pull);
  raw_peer raw(path_kind::pull);
  raw.meet(*source);
  raw.keep_parts(); // 40 MiB stay out: the source need not hear of every part
  const lane_grant grant = plain_grant(lane_numbered(1), source->life, 20, 2 << 20);
  for (std::uint32_t piece = 0; piece < 20; ++piece)
    source->device->offer(node_name{"raw"}, plain_offer(grant, piece));
  raw.wait_parts(20);
  raw.send(wire::receipt{grant.lane});
  CHECK(raw.wait<receipt_arrived>(*source).lane == grant.lane);
  const lane_grant next = plain_grant(lane_numbered(2), source->life, 1, bytes);
  source->device->offer(node_name{"raw"}, plain_offer(next, 0));
  CHECK(std::get<wire::part_header>(raw.wait_parts(21).back()).lane == next.lane);
}

TEST_CASE("pull: a piece larger than a message leaves in equal parts") {
  const auto source = make_one(path_kind::pull);
  raw_peer raw(path_kind::pull);
  raw.meet(*source);
  const lane_grant grant = plain_grant(lane_numbered(1), source->life, 1, 5 << 19);
  source->device->offer(node_name{"raw"}, plain_offer(grant, 0));
  for (const wire::message& m : raw.wait_parts(2))
    CHECK(std::get<wire::part_header>(m).part_bytes == 5 << 18);
}

TEST_CASE("pull: one notice tells of all pieces of a message") {
  hub unused;
  const auto source = make_one(path_kind::pull);
  const auto destination = make_node(path_kind::pull, unused, "D", {});
  constexpr std::uint64_t all_bytes = 256ULL * (4 << 10); // 64 pieces are the most in a message
  fill_pattern(source->at(0), all_bytes, 3);
  const lane_grant grant = plain_grant(lane_numbered(1), source->life, 256, 4 << 10);
  admit(*destination, grant);
  source->device->connect(destination->name, destination->life,
                          destination->device->descriptor());
  for (std::uint32_t piece = 0; piece < 256; ++piece) // all wait: nobody has answered yet
    source->device->offer(destination->name, plain_offer(grant, piece));
  wait_executed(*source);
  destination->device->connect(source->name, source->life, source->device->descriptor());
  wait_landed(*destination, grant.lane, 256);
  CHECK(std::memcmp(source->at(0), destination->at(0), all_bytes) == 0);
  CHECK(destination->events.landing_notices() <= 4);
}
