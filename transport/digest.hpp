// XXH3-64 of bytes and of strided layouts: finds damage on the way, proves nothing about intent.
#pragma once

#include "transport/endpoint.hpp"

#include <cstddef>
#include <cstdint>

namespace baton::transport {

/// Which pieces carry a digest that the destination verifies after landing. `sampled`: payloads,
/// and of the other pieces one in digest_sample.
enum class integrity : std::uint8_t { off, sampled, all };

inline constexpr std::uint32_t digest_sample = 16;

const char* to_string(integrity check);

/// Whether this piece is one of them: both ends draw alike, each hand-off other pieces.
bool is_digested(integrity check, const lane_id& lane, std::uint32_t piece, bool is_payload);

std::uint64_t digest_of(const std::byte* bytes, std::size_t size);
/// Of the segments in order, as they travel.
std::uint64_t digest_of(const std::byte* base, const strided& where);

} // namespace baton::transport
