// XXH3-64 of bytes and of strided layouts: finds damage on the way, proves nothing about intent.
#pragma once

#include "transport/endpoint.hpp"

#include <cstddef>
#include <cstdint>

namespace baton::transport {

/// Whether pieces carry a digest that the destination verifies after landing.
enum class integrity : std::uint8_t { off, all };

std::uint64_t digest_of(const std::byte* bytes, std::size_t size);
/// Of the segments in order, as they travel.
std::uint64_t digest_of(const std::byte* base, const strided& where);

} // namespace baton::transport
