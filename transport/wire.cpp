#include "transport/wire.hpp"

#include "protocol/assert.hpp"
#include "transport/digest.hpp"
#include "transport/wire_codec.hpp"

#include <algorithm>
#include <type_traits>

namespace baton::transport {

const char* to_string(path_kind path) {
  switch (path) {
  case path_kind::loopback: return "loopback";
  case path_kind::pull: return "pull";
  case path_kind::shared_arena: return "shared_arena";
  case path_kind::in_place: return "in_place";
  }
  return "unknown";
}

} // namespace baton::transport

namespace baton::transport::wire {

using protocol::outcome;
using protocol::reason;

namespace {

constexpr std::uint16_t frame_magic = 0x4e42;
constexpr std::uint32_t descriptor_magic = 0x444e4f42;
constexpr std::size_t check_bytes = 4;

failure malformed(const char* what, const char* field) {
  return {reason::bad_input, std::string("transport ") + what + ": " + field};
}

std::uint32_t check_of(const std::byte* bytes, std::size_t size) {
  return static_cast<std::uint32_t>(digest_of(bytes, size));
}

std::vector<std::byte> sealed(byte_writer& out) {
  out.put(check_of(out.bytes().data(), out.bytes().size()));
  return std::move(out.bytes());
}

bool seal_holds(const std::byte* bytes, std::size_t size) {
  if (size < check_bytes)
    return false;
  byte_reader tail(bytes + size - check_bytes, check_bytes);
  return tail.get<std::uint32_t>() == check_of(bytes, size - check_bytes);
}

bool known_path(std::uint8_t path) {
  return path >= static_cast<std::uint8_t>(path_kind::loopback)
         && path <= static_cast<std::uint8_t>(path_kind::in_place);
}

template <class Id>
void put_id(byte_writer& out, const Id& id) {
  out.put(id.high);
  out.put(id.low);
}

incarnation get_incarnation(byte_reader& in) {
  incarnation id;
  id.high = in.get<std::uint64_t>();
  id.low = in.get<std::uint64_t>();
  return id;
}

void put_lane(byte_writer& out, const lane_id& lane) {
  put_id(out, lane.reservation.owner);
  out.put(lane.reservation.number);
  out.put(lane.source.value);
  out.put(lane.destination.value);
}

lane_id get_lane(byte_reader& in) {
  lane_id lane;
  lane.reservation.owner = get_incarnation(in);
  lane.reservation.number = in.get<std::uint64_t>();
  lane.source.value = in.get<std::uint16_t>();
  lane.destination.value = in.get<std::uint16_t>();
  return lane;
}

void put_block(byte_writer& out, const block_ref& block) {
  out.put(block.block.value);
  out.put(block.gen.value);
}

block_ref get_block(byte_reader& in) {
  block_ref block;
  block.block.value = in.get<std::uint32_t>();
  block.gen.value = in.get<std::uint64_t>();
  return block;
}

void put_digest(byte_writer& out, const std::optional<std::uint64_t>& digest) {
  out.put(static_cast<std::uint8_t>(digest.has_value()));
  out.put(digest.value_or(0));
}

std::optional<std::uint64_t> get_digest(byte_reader& in) {
  const bool present = in.get_flag();
  const auto value = in.get<std::uint64_t>();
  return present ? std::optional(value) : std::nullopt;
}

void put(byte_writer& out, const hello& m) {
  put_id(out, m.to);
  out.put(static_cast<std::uint8_t>(m.path));
  out.put(static_cast<std::uint8_t>(m.answer_wanted));
}
void put(byte_writer& out, const part_header& m) {
  put_lane(out, m.lane);
  out.put(m.piece);
  put_block(out, m.block);
  out.put(m.total_bytes);
  out.put(m.part_offset);
  out.put(m.part_bytes);
  out.put(m.part_bytes_max);
  put_digest(out, m.digest);
}
void put(byte_writer& out, const announcement& m) {
  put_lane(out, m.lane);
  out.put(m.piece);
  put_block(out, m.block);
  out.put(m.where.offset);
  out.put(m.where.segment_bytes);
  out.put(m.where.stride);
  out.put(m.where.segments);
  put_digest(out, m.digest);
}
void put(byte_writer& out, const announcements& m) {
  BATON_ASSERT(!m.pieces.empty() && m.pieces.size() <= announcements_max);
  out.put(static_cast<std::uint8_t>(m.pieces.size()));
  for (const announcement& each : m.pieces)
    put(out, each);
}
void put(byte_writer& out, const run_header& m) {
  BATON_ASSERT(!m.pieces.empty() && m.pieces.size() <= run_pieces_max);
  put_lane(out, m.lane);
  out.put(static_cast<std::uint8_t>(m.pieces.size()));
  for (const run_piece& each : m.pieces) {
    out.put(each.piece);
    put_block(out, each.block);
    out.put(each.bytes);
    put_digest(out, each.digest);
  }
}
void put(byte_writer& out, const taken& m) { out.put(m.bytes); }
void put(byte_writer&, const farewell&) {}
void put(byte_writer& out, const receipt& m) { put_lane(out, m.lane); }
void put(byte_writer& out, const stopped& m) { put_lane(out, m.lane); }
void put(byte_writer& out, const query& m) { put_lane(out, m.lane); }
void put(byte_writer& out, const rejected& m) {
  put_lane(out, m.lane);
  out.put(m.piece);
  out.put(static_cast<std::uint8_t>(m.error.why));
  const std::size_t size = std::min(m.error.text.size(), text_bytes_max);
  out.put(static_cast<std::uint16_t>(size));
  out.put_bytes(reinterpret_cast<const std::byte*>(m.error.text.data()), size);
}

message get_hello(byte_reader& in, bool& valid) {
  hello m;
  m.to = get_incarnation(in);
  const auto path = in.get<std::uint8_t>();
  valid = known_path(path);
  m.path = static_cast<path_kind>(path);
  m.answer_wanted = in.get_flag();
  return m;
}
message get_part_header(byte_reader& in) {
  part_header m;
  m.lane = get_lane(in);
  m.piece = in.get<std::uint32_t>();
  m.block = get_block(in);
  m.total_bytes = in.get<std::uint64_t>();
  m.part_offset = in.get<std::uint64_t>();
  m.part_bytes = in.get<std::uint64_t>();
  m.part_bytes_max = in.get<std::uint64_t>();
  m.digest = get_digest(in);
  return m;
}
announcement get_announcement(byte_reader& in) {
  announcement m;
  m.lane = get_lane(in);
  m.piece = in.get<std::uint32_t>();
  m.block = get_block(in);
  m.where.offset = in.get<std::uint64_t>();
  m.where.segment_bytes = in.get<std::uint64_t>();
  m.where.stride = in.get<std::uint64_t>();
  m.where.segments = in.get<std::uint32_t>();
  m.digest = get_digest(in);
  return m;
}
message get_announcements(byte_reader& in, bool& valid) {
  announcements m;
  const std::size_t count = in.get<std::uint8_t>();
  valid = count >= 1 && count <= announcements_max;
  for (std::size_t i = 0; valid && in.ok() && i < count; ++i)
    m.pieces.push_back(get_announcement(in));
  return m;
}
message get_run_header(byte_reader& in, bool& valid) {
  run_header m;
  m.lane = get_lane(in);
  const std::size_t count = in.get<std::uint8_t>();
  valid = count >= 1 && count <= run_pieces_max;
  for (std::size_t i = 0; valid && in.ok() && i < count; ++i) {
    run_piece each;
    each.piece = in.get<std::uint32_t>();
    each.block = get_block(in);
    each.bytes = in.get<std::uint64_t>();
    each.digest = get_digest(in);
    valid = m.pieces.empty() || each.piece > m.pieces.back().piece;
    m.pieces.push_back(each);
  }
  return m;
}
message get_rejected(byte_reader& in, bool& valid) {
  rejected m;
  m.lane = get_lane(in);
  m.piece = in.get<std::uint32_t>();
  const auto why = in.get<std::uint8_t>();
  const auto size = in.get<std::uint16_t>();
  valid = why != 0 && why <= static_cast<std::uint8_t>(reason::internal) && size <= text_bytes_max;
  m.error.why = static_cast<reason>(why);
  const auto text = in.get_bytes(valid ? size : 0);
  m.error.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return m;
}

/// `kind` is the message's index in the variant.
message get_message(std::uint8_t kind, byte_reader& in, bool& valid) {
  switch (kind) {
  case 0: return get_hello(in, valid);
  case 1: return get_part_header(in);
  case 2: return get_announcements(in, valid);
  case 3: return taken{in.get<std::uint64_t>()};
  case 4: return receipt{get_lane(in)};
  case 5: return stopped{get_lane(in)};
  case 6: return query{get_lane(in)};
  case 7: return get_rejected(in, valid);
  case 8: return farewell{};
  case 9: return get_run_header(in, valid);
  default: valid = false; return taken{};
  }
}

} // namespace

std::vector<std::byte> encode(const incarnation& from, const message& body) {
  byte_writer out;
  out.bytes().reserve(160);
  out.put(frame_magic);
  out.put(frame_version);
  out.put(static_cast<std::uint8_t>(body.index()));
  put_id(out, from);
  std::visit([&out](const auto& m) { put(out, m); }, body);
  return sealed(out);
}

outcome<envelope> decode(const std::byte* bytes, std::size_t size) {
  if (size > frame_bytes_max || size < check_bytes)
    return malformed("frame", "length");
  byte_reader in(bytes, size - check_bytes);
  if (in.get<std::uint16_t>() != frame_magic)
    return malformed("frame", "magic");
  if (in.get<std::uint8_t>() != frame_version)
    return failure{reason::unsupported, "transport frame: version"};
  if (!seal_holds(bytes, size))
    return malformed("frame", "check");
  const auto kind = in.get<std::uint8_t>();
  envelope e{get_incarnation(in), taken{}};
  bool valid = true;
  e.body = get_message(kind, in, valid);
  if (!valid)
    return malformed("frame", "kind or field out of range");
  if (!in.finished())
    return malformed("frame", "length");
  return e;
}

std::vector<std::byte> encode(const descriptor& d) {
  byte_writer out;
  out.put(descriptor_magic);
  out.put(descriptor_version);
  out.put(static_cast<std::uint8_t>(d.path));
  put_id(out, d.life);
  out.put(static_cast<std::uint32_t>(d.address.size()));
  out.put_bytes(d.address.data(), d.address.size());
  out.put(static_cast<std::uint8_t>(d.region.has_value()));
  if (d.region) {
    out.put(d.region->pid);
    out.put(d.region->fd);
    out.put(d.region->bytes);
    out.put(d.region->nonce_high);
    out.put(d.region->nonce_low);
  }
  return sealed(out);
}

outcome<descriptor> decode_descriptor(const std::byte* bytes, std::size_t size) {
  if (size < check_bytes || size > address_bytes_max + 128)
    return malformed("descriptor", "length");
  byte_reader in(bytes, size - check_bytes);
  if (in.get<std::uint32_t>() != descriptor_magic)
    return malformed("descriptor", "magic");
  if (in.get<std::uint16_t>() != descriptor_version)
    return failure{reason::unsupported, "transport descriptor: version"};
  if (!seal_holds(bytes, size))
    return malformed("descriptor", "check");
  descriptor d;
  const auto path = in.get<std::uint8_t>();
  if (!known_path(path))
    return malformed("descriptor", "path");
  d.path = static_cast<path_kind>(path);
  d.life = get_incarnation(in);
  const auto address_size = in.get<std::uint32_t>();
  if (address_size > address_bytes_max)
    return malformed("descriptor", "address length");
  d.address = in.get_bytes(address_size);
  if (in.get_flag()) {
    shared_region r;
    r.pid = in.get<std::uint32_t>();
    r.fd = in.get<std::uint32_t>();
    r.bytes = in.get<std::uint64_t>();
    r.nonce_high = in.get<std::uint64_t>();
    r.nonce_low = in.get<std::uint64_t>();
    d.region = r;
  }
  if (!in.finished())
    return malformed("descriptor", "length");
  return d;
}

} // namespace baton::transport::wire
