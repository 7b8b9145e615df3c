#include "transport/digest.hpp"

#include <xxhash.h>

namespace baton::transport {

const char* to_string(integrity check) {
  switch (check) {
  case integrity::off: return "off";
  case integrity::sampled: return "sampled";
  case integrity::all: break;
  }
  return "all";
}

bool is_digested(integrity check, const lane_id& lane, std::uint32_t piece, bool is_payload) {
  if (check != integrity::sampled)
    return check == integrity::all;
  const std::uint64_t drawn_from[] = {lane.reservation.owner.low, lane.reservation.number,
                                      lane.source.value, lane.destination.value, piece};
  return is_payload || XXH3_64bits(drawn_from, sizeof drawn_from) % digest_sample == 0;
}

std::uint64_t digest_of(const std::byte* bytes, std::size_t size) {
  return XXH3_64bits(bytes, size);
}

std::uint64_t digest_of(const std::byte* base, const strided& where) {
  if (where.segments == 1)
    return digest_of(base + where.offset, where.segment_bytes);
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  for (std::uint32_t i = 0; i < where.segments; ++i)
    XXH3_64bits_update(state, base + where.offset + i * where.stride, where.segment_bytes);
  const std::uint64_t digest = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return digest;
}

} // namespace baton::transport
