// The choice of the next token from its logits: the same token on every rank and every later owner
// of the sequence, because nothing but (logits, sampling, position) enters it.
#pragma once

#include "gpu/device.hpp"

#include <cstdint>
#include <vector>

namespace baton::gpu {

/// The generator: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011) with key = seed and counter = position. Returns a number in [0, 1) with 53 random bits.
double draw_uniform(std::uint64_t seed, std::uint64_t position);

/// Checks a request's parameters: bad_input names the field.
protocol::failure check_sampling(const sampling& how);

/// Chooses the token that will take `position`. logits: float[vocab], not empty; a NaN is never
/// chosen. Greedy for temperature 0 (lowest id wins a tie). Otherwise the candidates are ordered by
/// (logit falling, id rising), cut to top_k, then to the shortest head whose probability reaches
/// top_p (at least one), and the draw picks among them.
std::int32_t sample_token(const float* logits, std::size_t vocab, const sampling& how,
                          std::uint64_t position);

} // namespace baton::gpu
