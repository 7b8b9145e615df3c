// Attention of one query position, for the query heads that share one KV head. A group of heads is
// only computed together to read the cache once: each head's own arithmetic is the same alone.

template <class T>
HWY_INLINE const T* block_start(const std::byte* base, std::size_t block_bytes,
                                std::uint32_t block) {
  return reinterpret_cast<const T*>(base + block * block_bytes);
}

/// scores[h][t] = q[h] . k[t] * scale
template <int heads, class T>
void score_positions(const paged_head& c, const std::uint32_t* blocks, std::size_t positions,
                     const float* q, float* scores, std::size_t stride) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(c.head_dim));
  for (std::size_t t0 = 0; t0 < positions; t0 += c.block_tokens) {
    const T* keys = block_start<T>(c.keys, c.block_bytes, blocks[t0 / c.block_tokens]);
    const std::size_t count = std::min(c.block_tokens, positions - t0);
    for (std::size_t t = 0; t < count; ++t) {
      const T* key = keys + t * c.head_dim;
      lanes sum[heads];
#pragma GCC unroll 4
      for (int h = 0; h < heads; ++h)
        sum[h] = broadcast(0.0F);
      for (std::size_t i = 0; i < c.head_dim; i += width) {
        const lanes k = load_upto(key + i, c.head_dim - i);
#pragma GCC unroll 4
        for (int h = 0; h < heads; ++h)
          sum[h] = fma(load_upto(q + h * c.head_dim + i, c.head_dim - i), k, sum[h]);
      }
#pragma GCC unroll 4
      for (int h = 0; h < heads; ++h)
        scores[h * stride + t0 + t] = fold(sum[h]) * scale;
    }
  }
}

/// Turns scores into exp(score - peak) in place and returns 1 / their sum.
HWY_INLINE float exponentiate(float* scores, std::size_t positions) {
  float peak = scores[0];
  for (std::size_t t = 1; t < positions; ++t)
    peak = scores[t] > peak ? scores[t] : peak;
  lanes sum = broadcast(0.0F);
  for (std::size_t t = 0; t < positions; t += width) {
    const std::size_t left = positions - t;
    lanes e = exponential(load_upto(scores + t, left) - broadcast(peak));
    store_upto(e, scores + t, left);
    if (left < width)
      e = load_some(scores + t, left);
    sum = sum + e;
  }
  return 1.0F / fold(sum);
}

/// out[h] = sum over t of weights[h][t] * v[t], times inverse[h]
template <int heads, class T>
void mix_values(const paged_head& c, const std::uint32_t* blocks, std::size_t positions,
                const float* weights, std::size_t stride, const float* inverse, float* out) {
  for (std::size_t i = 0; i < c.head_dim; i += width) {
    const std::size_t n = c.head_dim - i;
    lanes sum[heads];
#pragma GCC unroll 4
    for (int h = 0; h < heads; ++h)
      sum[h] = broadcast(0.0F);
    for (std::size_t t0 = 0; t0 < positions; t0 += c.block_tokens) {
      const T* values = block_start<T>(c.values, c.block_bytes, blocks[t0 / c.block_tokens]);
      const std::size_t count = std::min(c.block_tokens, positions - t0);
      for (std::size_t t = 0; t < count; ++t) {
        const lanes v = load_upto(values + t * c.head_dim + i, n);
#pragma GCC unroll 4
        for (int h = 0; h < heads; ++h)
          sum[h] = fma(broadcast(weights[h * stride + t0 + t]), v, sum[h]);
      }
    }
#pragma GCC unroll 4
    for (int h = 0; h < heads; ++h)
      store_upto(sum[h] * broadcast(inverse[h]), out + h * c.head_dim + i, n);
  }
}

template <int heads, class T>
void attend_group(const paged_head& c, const std::uint32_t* blocks, std::size_t positions,
                  const float* q, float* scratch, float* out) {
  const std::size_t stride = positions + width;
  float inverse[heads];
  score_positions<heads, T>(c, blocks, positions, q, scratch, stride);
  for (int h = 0; h < heads; ++h)
    inverse[h] = exponentiate(scratch + h * stride, positions);
  mix_values<heads, T>(c, blocks, positions, scratch, stride, inverse, out);
}

template <class T>
void attend_heads(const paged_head& c, const std::uint32_t* blocks, std::size_t positions,
                  const float* q, std::size_t heads, float* scratch, float* out) {
  while (heads > 0) {
    const std::size_t group = std::min<std::size_t>(heads, 4);
    switch (group) {
    case 4: attend_group<4, T>(c, blocks, positions, q, scratch, out); break;
    case 3: attend_group<3, T>(c, blocks, positions, q, scratch, out); break;
    case 2: attend_group<2, T>(c, blocks, positions, q, scratch, out); break;
    default: attend_group<1, T>(c, blocks, positions, q, scratch, out); break;
    }
    q += group * c.head_dim;
    out += group * c.head_dim;
    heads -= group;
  }
}

void attend_impl(const paged_head& c, const std::uint32_t* blocks, std::size_t positions,
                 const float* q, std::size_t heads, float* scratch, float* out) {
  if (c.full)
    attend_heads<float>(c, blocks, positions, q, heads, scratch, out);
  else
    attend_heads<bf16>(c, blocks, positions, q, heads, scratch, out);
}
