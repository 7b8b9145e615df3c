#include "tests/transport/raw_peer.hpp"

using namespace baton::transport;
using namespace baton::transport::testing;
using baton::protocol::reason;

namespace {

constexpr std::uint64_t bytes = 100'000;

wire::part_header header_of(const lane_grant& grant, std::uint32_t piece) {
  return {grant.lane, piece, grant.pieces[piece].block, bytes, 0, bytes, bytes, std::nullopt};
}

std::unique_ptr<node> make_destination(path_kind path, integrity check) {
  hub unused;
  node_options options;
  options.check = check;
  options.arena_bytes = 8 << 20;
  auto made = make_node(path, unused, "D0.0", options);
  fill_poison(*made);
  return made;
}

} // namespace

TEST_CASE("pull: a piece whose bytes differ from their digest is refused, and may come again") {
  const auto destination = make_destination(path_kind::pull, integrity::all);
  raw_peer raw(path_kind::pull);
  raw.meet(*destination);
  const lane_grant grant = plain_grant(lane_numbered(1), raw.life, 2, bytes);
  admit(*destination, grant);
  fill_pattern(raw.memory.base(), bytes, 1);
  wire::part_header header = header_of(grant, 1);
  raw.send_part(header, raw.memory.base(), bytes); // no digest at all
  CHECK(raw.wait<offer_refused>(*destination).error.why == reason::bad_input);
  header.digest = digest_of(raw.memory.base(), bytes) ^ 1;
  raw.send_part(header, raw.memory.base(), bytes);
  const auto refused = raw.wait<offer_refused>(*destination);
  CHECK(refused.error.why == reason::corrupt);
  CHECK(refused.error.text.find("block 1 generation 7") != std::string::npos);
  header.digest = digest_of(raw.memory.base(), bytes);
  raw.send_part(header, raw.memory.base(), bytes);
  CHECK(raw.wait<piece_landed>(*destination).piece == 1);
  CHECK(std::memcmp(raw.memory.base(), destination->at(bytes), bytes) == 0);
}

TEST_CASE("shared_arena: a false digest is refused, and so is a layout outside the mapping") {
  const auto destination = make_destination(path_kind::shared_arena, integrity::all);
  raw_peer raw(path_kind::shared_arena);
  raw.meet(*destination);
  const lane_grant grant = plain_grant(lane_numbered(1), raw.life, 2, bytes);
  admit(*destination, grant);
  wire::announcement offer{grant.lane, 0, grant.pieces[0].block, {8 << 20, bytes, 0, 1}, 5};
  raw.send(wire::announcements{{offer}});
  CHECK(raw.wait<offer_refused>(*destination).error.why == reason::out_of_range);
  offer.where.offset = UINT64_MAX - 5;
  raw.send(wire::announcements{{offer}});
  CHECK(raw.wait<offer_refused>(*destination).error.why == reason::out_of_range);
  CHECK(all_poison(destination->at(0), 2 * bytes));
  offer.where.offset = 0;
  raw.send(wire::announcements{{offer}});
  CHECK(raw.wait<offer_refused>(*destination).error.why == reason::corrupt);
  offer.digest = digest_of(raw.memory.base(), bytes);
  raw.send(wire::announcements{{offer}});
  CHECK(raw.wait<piece_landed>(*destination).piece == 0);
}

TEST_CASE("pull: parts that contradict their message, themselves or each other land no byte") {
  const auto destination = make_destination(path_kind::pull, integrity::off);
  raw_peer raw(path_kind::pull);
  raw.meet(*destination);
  const lane_grant grant = plain_grant(lane_numbered(1), raw.life, 2, bytes);
  admit(*destination, grant);
  const auto expect = [&](const wire::part_header& header, std::uint64_t sent, reason why) {
    raw.send_part(header, raw.memory.base(), sent);
    CHECK(raw.wait<offer_refused>(*destination).error.why == why);
    CHECK(all_poison(destination->at(0), 8 << 20));
  };
  const wire::part_header good = header_of(grant, 0);
  expect(good, bytes + 1, reason::bad_input);
  expect(good, bytes - 1, reason::bad_input);
  wire::part_header bad = good;
  bad.part_bytes_max = 0;
  expect(bad, bytes, reason::bad_input);
  bad.part_bytes_max = 1;
  expect(bad, bytes, reason::bad_input);
  bad = good;
  bad.part_offset = bytes;
  expect(bad, bytes, reason::out_of_range);
  bad = good;
  bad.part_offset = 10;
  bad.part_bytes = bytes - 10;
  expect(bad, bytes - 10, reason::out_of_range);
  raw.send(good); // an offer without bytes
  CHECK(raw.wait<offer_refused>(*destination).error.why == reason::bad_input);
  raw.send_part(good, raw.memory.base(), bytes);
  CHECK(raw.wait<piece_landed>(*destination).bytes == bytes);
}

TEST_CASE("pull: a life that is not connected moves nothing") {
  const auto destination = make_destination(path_kind::pull, integrity::off);
  raw_peer raw(path_kind::pull);
  raw.intrude(*destination);
  const lane_grant grant = plain_grant(lane_numbered(1), raw.life, 2, bytes);
  admit(*destination, grant);
  raw.send_part(header_of(grant, 0), raw.memory.base(), bytes);
  CHECK(raw.wait<offer_refused>(*destination).error.why == reason::stale_incarnation);
  CHECK(all_poison(destination->at(0), 8 << 20));
}

TEST_CASE("pull: damaged frames change nothing, and the channel goes on") {
  const auto destination = make_destination(path_kind::pull, integrity::off);
  raw_peer raw(path_kind::pull);
  raw.meet(*destination);
  const lane_grant grant = plain_grant(lane_numbered(1), raw.life, 1, bytes);
  admit(*destination, grant);
  const auto frame = wire::encode(raw.life, wire::farewell{});
  for (std::size_t size = 1; size < frame.size(); ++size)
    raw.send_frame({frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size)});
  for (std::size_t i = 0; i < frame.size(); ++i) {
    auto damaged = frame;
    damaged[i] ^= std::byte{0x10};
    raw.send_frame(damaged);
  }
  raw.send_part(header_of(grant, 0), raw.memory.base(), bytes);
  CHECK(raw.wait<piece_landed>(*destination).bytes == bytes);
  CHECK(destination->events.count<peer_failed>() == 0);
}
