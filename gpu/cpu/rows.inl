// Element-wise work on rows, and the sum of squares.

void rms_norm_impl(const float* x, const float* weight, std::size_t n, float eps, float* y) {
  lanes squares = broadcast(0.0F);
  for (std::size_t i = 0; i < n; i += width) {
    const lanes v = load_upto(x + i, n - i);
    squares = fma(v, v, squares);
  }
  const float mean = fold(squares) / static_cast<float>(n);
  const lanes scale = broadcast(1.0F / std::sqrt(mean + eps));
  for (std::size_t i = 0; i < n; i += width) {
    const lanes v = load_upto(x + i, n - i) * scale;
    store_upto(v * load_upto(weight + i, n - i), y + i, n - i);
  }
}

void rotate_heads_impl(float* data, std::size_t heads, std::size_t head_dim, const float* cosines,
                       const float* sines) {
  const std::size_t half = head_dim / 2;
  for (std::size_t h = 0; h < heads; ++h) {
    float* first = data + h * head_dim;
    float* second = first + half;
    for (std::size_t i = 0; i < half; i += width) {
      const std::size_t n = half - i;
      const lanes a = load_upto(first + i, n);
      const lanes b = load_upto(second + i, n);
      const lanes c = load_upto(cosines + i, n);
      const lanes s = load_upto(sines + i, n);
      store_upto(fms(a, c, b * s), first + i, n);
      store_upto(fma(b, c, a * s), second + i, n);
    }
  }
}

void swiglu_impl(const float* gate, const float* up, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; i += width) {
    const lanes g = load_upto(gate + i, n - i);
    const lanes u = load_upto(up + i, n - i);
    const lanes activated = g / (broadcast(1.0F) + exponential(broadcast(0.0F) - g));
    store_upto(activated * u, out + i, n - i);
  }
}

void add_impl(const float* a, const float* b, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; i += width)
    store_upto(load_upto(a + i, n - i) + load_upto(b + i, n - i), out + i, n - i);
}

void round_to_bf16_impl(const float* x, std::size_t n, bf16* out) {
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, x + i, sizeof bits);
    const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
    const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
    out[i] = static_cast<bf16>((nan ? bits | 0x400000U : rounded) >> 16);
  }
}

void pack_strips_impl(const float* x, std::size_t x_stride, std::size_t rows, std::size_t inputs,
                      std::size_t begin, std::size_t end, float* out) {
  for (std::size_t s = begin; s < end; ++s) {
    float* to = out + s * strip_rows * inputs;
    for (std::size_t m = 0; m < strip_rows; ++m) {
      const std::size_t row = s * strip_rows + m;
      for (std::size_t k = 0; k < inputs; ++k)
        to[k * strip_rows + m] = row < rows ? x[row * x_stride + k] : 0.0F;
    }
  }
}
