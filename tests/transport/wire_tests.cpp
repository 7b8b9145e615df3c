#include "tests/transport/nodes.hpp"
#include "transport/digest.hpp"
#include "transport/layout.hpp"
#include "transport/wire.hpp"

#include <random>

using namespace baton::transport;
using namespace baton::transport::testing;
using baton::protocol::failure;
using baton::protocol::reason;

namespace {

std::vector<wire::message> every_kind() {
  const block_ref block{baton::protocol::block_id{9}, baton::protocol::generation{1ULL << 40}};
  return {wire::hello{{3, 4}, path_kind::pull, true},
          wire::part_header{lane_numbered(5), 6, block, 1000, 0, 500, 500, std::nullopt},
          wire::part_header{lane_numbered(5), 6, block, 1000, 500, 500, 500, 0x1234},
          wire::run_header{lane_numbered(5), {{1, block, 10, 3}, {7, block, 20, std::nullopt}}},
          wire::announcements{{{lane_numbered(5), 7, block, {1, 2, 3, 4}, 0x99},
                               {lane_numbered(6), 0, block, {5, 6, 7, 8}, std::nullopt}}},
          wire::taken{77},
          wire::farewell{},
          wire::receipt{lane_numbered(8)},
          wire::stopped{lane_numbered(8)},
          wire::query{lane_numbered(8)},
          wire::rejected{lane_numbered(8), 2, {reason::stale_generation, "why"}}};
}

wire::descriptor full_descriptor() {
  wire::descriptor d;
  d.path = path_kind::shared_arena;
  d.life = {7, 8};
  d.address.assign(180, std::byte{0x5a});
  d.region = wire::shared_region{42, 5, 1 << 30, 11, 12};
  return d;
}

} // namespace

TEST_CASE("every message survives the wire") {
  for (const wire::message& m : every_kind()) {
    const auto frame = wire::encode({1, 2}, m);
    CHECK(frame.size() <= wire::frame_bytes_max);
    const auto back = wire::decode(frame.data(), frame.size());
    REQUIRE(back.ok());
    CHECK(back.value().from == incarnation{1, 2});
    REQUIRE(back.value().body.index() == m.index());
    CHECK(wire::encode({1, 2}, back.value().body) == frame);
  }
  const wire::rejected wordy{lane_numbered(1), 0, {reason::corrupt, std::string(5000, 'x')}};
  CHECK(wire::encode({1, 2}, wordy).size() <= wire::frame_bytes_max);
}

TEST_CASE("a frame that is cut, extended or damaged anywhere is refused") {
  for (const wire::message& m : every_kind()) {
    const auto frame = wire::encode({1, 2}, m);
    for (std::size_t size = 0; size < frame.size(); ++size)
      CHECK_FALSE(wire::decode(frame.data(), size).ok());
    auto longer = frame;
    longer.push_back(std::byte{0});
    CHECK_FALSE(wire::decode(longer.data(), longer.size()).ok());
    for (std::size_t i = 0; i < frame.size(); ++i)
      for (int bit = 0; bit < 8; ++bit) {
        auto damaged = frame;
        damaged[i] ^= static_cast<std::byte>(1 << bit);
        CHECK_FALSE(wire::decode(damaged.data(), damaged.size()).ok());
      }
  }
}

namespace {

constexpr std::size_t run_count_at = 48;          // behind the frame's head and a lane
constexpr std::size_t announcements_count_at = 20; // behind the frame's head

/// The frame with one byte changed and its check made good again.
std::vector<std::byte> forged(std::vector<std::byte> frame, std::size_t at, std::uint8_t value) {
  frame[at] = static_cast<std::byte>(value);
  const std::size_t size = frame.size() - 4;
  const std::uint64_t check = digest_of(frame.data(), size);
  for (std::size_t i = 0; i < 4; ++i)
    frame[size + i] = static_cast<std::byte>(check >> (8 * i) & 0xff);
  return frame;
}

wire::run_header run_of(std::size_t pieces) {
  wire::run_header run{lane_numbered(5), {}};
  for (std::uint32_t i = 0; i < pieces; ++i)
    run.pieces.push_back({i, {}, 10, i});
  return run;
}

} // namespace

TEST_CASE("lists of the greatest length fit into a frame") {
  wire::announcements many;
  many.pieces.resize(wire::announcements_max);
  const wire::message longest[] = {run_of(wire::run_pieces_max), many};
  for (const wire::message& m : longest) {
    const auto frame = wire::encode({1, 2}, m);
    CHECK(frame.size() <= wire::frame_bytes_max);
    CHECK(wire::decode(frame.data(), frame.size()).ok());
  }
}

TEST_CASE("a list's count that is 0, too large or not that of what follows is refused") {
  const auto run = wire::encode({1, 2}, run_of(3));
  wire::announcements three;
  three.pieces.resize(3);
  const auto announced = wire::encode({1, 2}, three);
  REQUIRE(run[run_count_at] == std::byte{3});
  REQUIRE(announced[announcements_count_at] == std::byte{3});
  for (unsigned count = 0; count <= 255; ++count) {
    const auto value = static_cast<std::uint8_t>(count);
    const auto a = forged(run, run_count_at, value);
    const auto b = forged(announced, announcements_count_at, value);
    CHECK(wire::decode(a.data(), a.size()).ok() == (count == 3));
    CHECK(wire::decode(b.data(), b.size()).ok() == (count == 3));
  }
}

TEST_CASE("a run that names a piece twice, or out of order, is refused as a whole") {
  for (const std::uint32_t last : {0U, 1U}) {
    wire::run_header run = run_of(3);
    run.pieces[2].piece = last;
    const auto frame = wire::encode({1, 2}, run);
    CHECK(wire::decode(frame.data(), frame.size()).error().why == reason::bad_input);
  }
}

TEST_CASE("a frame of another version is refused as unsupported") {
  auto frame = wire::encode({1, 2}, wire::taken{1});
  frame[2] = std::byte{1};
  CHECK(wire::decode(frame.data(), frame.size()).error().why == reason::unsupported);
}

TEST_CASE("a descriptor survives the wire, and is refused when cut, extended or damaged") {
  const auto bytes = wire::encode(full_descriptor());
  const auto back = wire::decode_descriptor(bytes.data(), bytes.size());
  REQUIRE(back.ok());
  CHECK(wire::encode(back.value()) == bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(wire::decode_descriptor(bytes.data(), size).ok());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      auto damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(1 << bit);
      CHECK_FALSE(wire::decode_descriptor(damaged.data(), damaged.size()).ok());
    }
  auto newer = bytes;
  newer[4] = std::byte{2};
  CHECK(wire::decode_descriptor(newer.data(), newer.size()).error().why == reason::unsupported);
}

TEST_CASE("random bytes are never a frame or a descriptor") {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> noise(random() % 300);
    for (std::byte& b : noise)
      b = static_cast<std::byte>(random());
    CHECK_FALSE(wire::decode(noise.data(), noise.size()).ok());
    CHECK_FALSE(wire::decode_descriptor(noise.data(), noise.size()).ok());
  }
}

TEST_CASE("a shared arena opens only as the arena that was described") {
  auto made = arena::create_shared(1 << 20);
  REQUIRE(made.ok());
  const arena memory = std::move(made.value());
  memory.base()[12'345] = std::byte{77};
  REQUIRE(memory.region());
  {
    const auto mapped = mapped_region::open(*memory.region());
    REQUIRE(mapped.ok());
    CHECK(mapped.value().bytes() == 1 << 20);
    CHECK(mapped.value().base()[12'345] == std::byte{77});
  }
  wire::shared_region wrong = *memory.region();
  wrong.nonce_low ^= 1;
  CHECK(mapped_region::open(wrong).error().why == reason::stale_incarnation);
  wrong = *memory.region();
  wrong.bytes += 4096;
  CHECK(mapped_region::open(wrong).error().why == reason::stale_incarnation);
  wrong = *memory.region();
  wrong.fd = 0;
  CHECK_FALSE(mapped_region::open(wrong).ok());
  wrong = *memory.region();
  wrong.fd = 9999;
  CHECK(mapped_region::open(wrong).error().why == reason::peer_lost);
}

TEST_CASE("arenas and their mappings in other processes begin where a huge page can") {
  const auto aligned = [](const std::byte* base) {
    return reinterpret_cast<std::uintptr_t>(base) % (2 << 20) == 0;
  };
  for (const std::uint64_t bytes : {1ULL, 5ULL << 20}) {
    const auto own = arena::create_private(bytes);
    const auto shared = arena::create_shared(bytes);
    REQUIRE((own.ok() && shared.ok()));
    const auto mapped = mapped_region::open(*shared.value().region());
    REQUIRE(mapped.ok());
    CHECK(aligned(own.value().base()));
    CHECK(aligned(shared.value().base()));
    CHECK(aligned(mapped.value().base()));
  }
}

TEST_CASE("an arena of many GiB takes memory only where it is touched") {
  for (auto* create : {&arena::create_private, &arena::create_shared}) {
    auto made = create(64ULL << 30);
    REQUIRE(made.ok());
    arena memory = std::move(made.value());
    memory.base()[(64ULL << 30) - 1] = std::byte{1};
    arena moved = std::move(memory);
    CHECK(memory.base() == nullptr);
    CHECK(moved.base()[(64ULL << 30) - 1] == std::byte{1});
  }
  CHECK_FALSE(arena::create_private(0).ok());
  CHECK_FALSE(arena::create_shared(1ULL << 60).ok());
}

TEST_CASE("layout bounds do not overflow") {
  CHECK_FALSE(check_bounds({0, 10, 20, 5}, 90));
  CHECK(check_bounds({0, 10, 20, 5}, 89).why == reason::out_of_range);
  CHECK(check_bounds({UINT64_MAX - 5, 5, 0, 1}, UINT64_MAX).why == reason::none);
  CHECK(check_bounds({UINT64_MAX - 4, 6, 0, 1}, UINT64_MAX).why == reason::out_of_range);
  CHECK(check_bounds({0, 8, UINT64_MAX / 2, 4}, 1 << 20).why == reason::out_of_range);
  CHECK(check_bounds({0, UINT64_MAX, UINT64_MAX, 3}, 1 << 20).why == reason::out_of_range);
}

TEST_CASE("copies of every length and alignment are exact, and touch nothing else") {
  std::vector<std::byte> from(300'000);
  fill_pattern(from.data(), from.size(), 9);
  for (const std::uint64_t length : {1ULL, 63ULL, 65'535ULL, 65'536ULL, 65'537ULL, 200'000ULL})
    for (const std::uint64_t to_offset : {0ULL, 1ULL, 15ULL, 16ULL, 63ULL, 64ULL})
      for (const std::uint64_t from_offset : {0ULL, 7ULL, 32ULL}) {
        std::vector<std::byte> to(300'000, poison);
        copy_piece({to.data(), contiguous(to_offset, length), 0},
                   {from.data(), contiguous(from_offset, length), 0}, length);
        CHECK(std::memcmp(to.data() + to_offset, from.data() + from_offset, length) == 0);
        CHECK(all_poison(to.data(), to_offset));
        CHECK(all_poison(to.data() + to_offset + length, to.size() - to_offset - length));
      }
}
