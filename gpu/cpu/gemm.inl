// The matrix product, for few rows (decode: the weights stream through once) and for many
// (prefill: a block of weights is widened once and reused from L1 for every strip of rows).

/// Rows x panels of y held in registers: each accumulator is one fma chain over k.
template <int rows, int panels, class W>
HWY_INLINE void few_tile(const float* HWY_RESTRICT x, std::size_t x_stride,
                         const W* HWY_RESTRICT w, std::size_t inputs, float* HWY_RESTRICT y,
                         std::size_t y_stride) {
  lanes sum[rows][panels];
#pragma GCC unroll 16
  for (int m = 0; m < rows; ++m)
#pragma GCC unroll 16
    for (int p = 0; p < panels; ++p)
      sum[m][p] = broadcast(0.0F);
  for (std::size_t k = 0; k < inputs; ++k) {
#pragma GCC unroll 16
    for (int p = 0; p < panels; ++p) {
      const lanes weights = load(w + (p * inputs + k) * width);
#pragma GCC unroll 16
      for (int m = 0; m < rows; ++m)
        sum[m][p] = fma(broadcast(x[m * x_stride + k]), weights, sum[m][p]);
    }
  }
#pragma GCC unroll 16
  for (int m = 0; m < rows; ++m)
#pragma GCC unroll 16
    for (int p = 0; p < panels; ++p)
      store(sum[m][p], y + m * y_stride + p * width);
}

/// `rows` rows against consecutive panels, `together` panels at a time.
template <int rows, int together, class W>
void few_panels(const float* x, std::size_t x_stride, const W* w, std::size_t inputs,
                std::size_t begin, std::size_t end, float* y, std::size_t y_stride) {
  std::size_t p = begin;
  for (; p + together <= end; p += together)
    few_tile<rows, together>(x, x_stride, w + p * inputs * width, inputs, y + p * width, y_stride);
  for (; p < end; ++p)
    few_tile<rows, 1>(x, x_stride, w + p * inputs * width, inputs, y + p * width, y_stride);
}

#if HWY_NATIVE_FMA
// Registers for accumulators beside a panel's weights: AVX-512 and NEON have 32, AVX2 has 16.
constexpr int accumulators_max = parts == 1 ? 16 : parts == 2 ? 12 : 24;
constexpr int accumulators_per_row = static_cast<int>(parts);
#else
constexpr int accumulators_max = 1;
constexpr int accumulators_per_row = static_cast<int>(width);
#endif
/// Rows of the largest tile. The fallback has no registers to fill.
constexpr int tile_rows_max = accumulators_per_row == 1 ? 12 : accumulators_per_row < 8 ? 6 : 1;

/// Panels that a tile of `rows` rows takes at once: several fma chains hide each other's latency.
constexpr int panels_together(int rows) {
  const int fitting = accumulators_max / (rows * accumulators_per_row);
  return fitting < 1 ? 1 : fitting > 4 ? 4 : fitting;
}

/// Chooses the tile for `rows`, which is at most `most`.
template <int most, class W>
void few_rows_exact(std::size_t rows, const float* x, std::size_t x_stride, const W* w,
                    std::size_t inputs, std::size_t begin, std::size_t end, float* y,
                    std::size_t y_stride) {
  if (rows == most)
    few_panels<most, panels_together(most)>(x, x_stride, w, inputs, begin, end, y, y_stride);
  else if constexpr (most > 1)
    few_rows_exact<most - 1>(rows, x, x_stride, w, inputs, begin, end, y, y_stride);
}

template <class W>
void few_rows(const float* x, std::size_t x_stride, std::size_t rows, const W* w,
              std::size_t inputs, std::size_t begin, std::size_t end, float* y,
              std::size_t y_stride) {
  constexpr std::size_t most = tile_rows_max;
  if (rows <= most)
    return few_rows_exact<tile_rows_max>(rows, x, x_stride, w, inputs, begin, end, y, y_stride);
  // Panel by panel, so that a panel read from memory serves all rows from the cache.
  for (std::size_t p = begin; p < end; ++p)
    for (std::size_t m = 0; m < rows; m += most)
      few_rows_exact<tile_rows_max>(std::min(most, rows - m), x + m * x_stride, x_stride, w, inputs,
                                    p, p + 1, y + m * y_stride, y_stride);
}

void multiply_few_impl(const float* x, std::size_t x_stride, std::size_t rows, const panel_view& w,
                       std::size_t begin, std::size_t end, float* y, std::size_t y_stride) {
  if (w.half != nullptr)
    few_rows(x, x_stride, rows, w.half, w.inputs, begin, end, y, y_stride);
  else
    few_rows(x, x_stride, rows, w.full, w.inputs, begin, end, y, y_stride);
}

constexpr std::size_t block_inputs = 256; // 256 x 16 floats are 16 KB: half of a small L1
constexpr std::size_t pass_strips = 32;   // 192 rows of x at a time stay in L2

/// One strip against one block of weights; y is continued where `resumed`, which keeps each
/// element's chain in the order of k across blocks.
template <int strips>
HWY_INLINE void strip_tile(const float* HWY_RESTRICT x, std::size_t strip_floats,
                           const float* HWY_RESTRICT w, std::size_t inputs, bool resumed,
                           float* HWY_RESTRICT y, std::size_t y_stride) {
  constexpr int rows = strips * static_cast<int>(strip_rows);
  lanes sum[rows];
#pragma GCC unroll 16
  for (int m = 0; m < rows; ++m)
    sum[m] = resumed ? load(y + m * y_stride) : broadcast(0.0F);
  for (std::size_t k = 0; k < inputs; ++k) {
    const lanes weights = load(w + k * width);
#pragma GCC unroll 2
    for (int s = 0; s < strips; ++s)
#pragma GCC unroll 16
      for (int m = 0; m < static_cast<int>(strip_rows); ++m) {
        const float v = x[s * strip_floats + k * strip_rows + m];
        sum[s * static_cast<int>(strip_rows) + m]
          = fma(broadcast(v), weights, sum[s * static_cast<int>(strip_rows) + m]);
      }
  }
#pragma GCC unroll 16
  for (int m = 0; m < rows; ++m)
    store(sum[m], y + m * y_stride);
}

/// The last strip, when it has fewer than 6 rows: through a buffer, so that no row past the end of
/// y is touched.
HWY_INLINE void short_strip(const float* x, const float* w, std::size_t inputs, bool resumed,
                            float* y, std::size_t y_stride, std::size_t rows) {
  float buffer[strip_rows * width] = {};
  if (resumed)
    for (std::size_t m = 0; m < rows; ++m)
      std::memcpy(buffer + m * width, y + m * y_stride, width * sizeof(float));
  strip_tile<1>(x, 0, w, inputs, resumed, buffer, width);
  for (std::size_t m = 0; m < rows; ++m)
    std::memcpy(y + m * y_stride, buffer + m * width, width * sizeof(float));
}

/// All strips of one pass against one widened block of one panel.
HWY_INLINE void pass_block(const float* strips, std::size_t rows, std::size_t total_inputs,
                           std::size_t k0, std::size_t inputs, std::size_t first,
                           std::size_t last, const float* w, float* y, std::size_t y_stride) {
#if HWY_NATIVE_FMA
  constexpr std::size_t together = parts == 1 ? 2 : 1; // as many accumulators as registers allow
#else
  constexpr std::size_t together = 1;
#endif
  const std::size_t strip_floats = strip_rows * total_inputs;
  std::size_t s = first;
  while (s < last) {
    const float* x = strips + s * strip_floats + k0 * strip_rows;
    float* out = y + s * strip_rows * y_stride;
    const std::size_t left = rows - s * strip_rows;
    if (s + together <= last && left >= together * strip_rows) {
      strip_tile<together>(x, strip_floats, w, inputs, k0 > 0, out, y_stride);
      s += together;
      continue;
    }
    if (left >= strip_rows)
      strip_tile<1>(x, strip_floats, w, inputs, k0 > 0, out, y_stride);
    else
      short_strip(x, w, inputs, k0 > 0, out, y_stride, left);
    ++s;
  }
}

template <class W>
void many_rows(const float* strips, std::size_t rows, const W* w, std::size_t total_inputs,
               std::size_t begin, std::size_t end, float* y, std::size_t y_stride) {
  alignas(64) float widened[block_inputs * width];
  const std::size_t strip_count = (rows + strip_rows - 1) / strip_rows;
  for (std::size_t first = 0; first < strip_count; first += pass_strips) {
    const std::size_t last = std::min(strip_count, first + pass_strips);
    for (std::size_t k0 = 0; k0 < total_inputs; k0 += block_inputs) {
      const std::size_t inputs = std::min(block_inputs, total_inputs - k0);
      for (std::size_t p = begin; p < end; ++p) {
        const W* from = w + (p * total_inputs + k0) * width;
        for (std::size_t k = 0; k < inputs; ++k)
          store(load(from + k * width), widened + k * width);
        pass_block(strips, rows, total_inputs, k0, inputs, first, last, widened, y + p * width,
                   y_stride);
      }
    }
  }
}

void multiply_strips_impl(const float* strips, std::size_t rows, const panel_view& w,
                          std::size_t begin, std::size_t end, float* y, std::size_t y_stride) {
  if (w.half != nullptr)
    many_rows(strips, rows, w.half, w.inputs, begin, end, y, y_stride);
  else
    many_rows(strips, rows, w.full, w.inputs, begin, end, y, y_stride);
}
