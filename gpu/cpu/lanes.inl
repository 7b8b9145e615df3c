// Sixteen floats as whole registers of the target being compiled: one of AVX-512, two of AVX2, four
// of NEON, or an array with std::fma. Included once per target, inside its namespace; everything
// else here is written in these operations, so that every target computes the same bits.

constexpr std::size_t width = 16;

#if HWY_NATIVE_FMA

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::CappedTag<float, width>;
using int_tag = hn::RebindToSigned<tag>;
using half_tag = hn::Rebind<hwy::bfloat16_t, tag>;
using native = hn::Vec<tag>;
constexpr std::size_t native_width = hn::MaxLanes(tag());
constexpr std::size_t parts = width / native_width;

struct lanes {
  native part[parts];
};

/// Applies `f` register by register.
template <class F>
HWY_INLINE lanes by_part(F f) {
  lanes out;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < parts; ++i)
    out.part[i] = f(i);
  return out;
}

HWY_INLINE lanes broadcast(float v) {
  return by_part([&](std::size_t) HWY_ATTR { return hn::Set(tag(), v); });
}
HWY_INLINE lanes load(const float* p) {
  return by_part([&](std::size_t i) HWY_ATTR { return hn::LoadU(tag(), p + i * native_width); });
}
HWY_INLINE lanes load(const bf16* p) {
  return by_part([&](std::size_t i) HWY_ATTR {
    const auto* at = reinterpret_cast<const hwy::bfloat16_t*>(p + i * native_width);
    return hn::PromoteTo(tag(), hn::LoadU(half_tag(), at));
  });
}
HWY_INLINE void store(const lanes& a, float* p) {
#pragma GCC unroll 4
  for (std::size_t i = 0; i < parts; ++i)
    hn::StoreU(a.part[i], tag(), p + i * native_width);
}
/// a * b + c, rounded once.
HWY_INLINE lanes fma(const lanes& a, const lanes& b, const lanes& c) {
  return by_part(
    [&](std::size_t i) HWY_ATTR { return hn::MulAdd(a.part[i], b.part[i], c.part[i]); });
}
/// a * b - c, rounded once.
HWY_INLINE lanes fms(const lanes& a, const lanes& b, const lanes& c) {
  return by_part(
    [&](std::size_t i) HWY_ATTR { return hn::MulSub(a.part[i], b.part[i], c.part[i]); });
}
HWY_INLINE lanes operator+(const lanes& a, const lanes& b) {
  return by_part([&](std::size_t i) HWY_ATTR { return hn::Add(a.part[i], b.part[i]); });
}
HWY_INLINE lanes operator-(const lanes& a, const lanes& b) {
  return by_part([&](std::size_t i) HWY_ATTR { return hn::Sub(a.part[i], b.part[i]); });
}
HWY_INLINE lanes operator*(const lanes& a, const lanes& b) {
  return by_part([&](std::size_t i) HWY_ATTR { return hn::Mul(a.part[i], b.part[i]); });
}
HWY_INLINE lanes operator/(const lanes& a, const lanes& b) {
  return by_part([&](std::size_t i) HWY_ATTR { return hn::Div(a.part[i], b.part[i]); });
}
HWY_INLINE lanes at_least(const lanes& a, float low) {
  return by_part([&](std::size_t i) HWY_ATTR { return hn::Max(a.part[i], hn::Set(tag(), low)); });
}
HWY_INLINE lanes at_most(const lanes& a, float high) {
  return by_part([&](std::size_t i) HWY_ATTR { return hn::Min(a.part[i], hn::Set(tag(), high)); });
}
HWY_INLINE lanes nearest(const lanes& a) {
  return by_part([&](std::size_t i) HWY_ATTR { return hn::Round(a.part[i]); });
}
/// 2^n for whole n in [-126, 127].
HWY_INLINE lanes power_of_two(const lanes& n) {
  return by_part([&](std::size_t i) HWY_ATTR {
    const auto biased = hn::Add(hn::ConvertTo(int_tag(), n.part[i]), hn::Set(int_tag(), 127));
    return hn::BitCast(tag(), hn::ShiftLeft<23>(biased));
  });
}

#else

struct lanes {
  float at[width];
};

template <class F>
inline lanes by_lane(F f) {
  lanes out;
  for (std::size_t i = 0; i < width; ++i)
    out.at[i] = f(i);
  return out;
}

inline lanes broadcast(float v) {
  return by_lane([&](std::size_t) { return v; });
}
inline lanes load(const float* p) {
  return by_lane([&](std::size_t i) { return p[i]; });
}
inline lanes load(const bf16* p) {
  return by_lane([&](std::size_t i) {
    const std::uint32_t bits = std::uint32_t{p[i]} << 16;
    float v = 0.0F;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  });
}
inline void store(const lanes& a, float* p) { std::memcpy(p, a.at, sizeof a.at); }
inline lanes fma(const lanes& a, const lanes& b, const lanes& c) {
  return by_lane([&](std::size_t i) { return std::fma(a.at[i], b.at[i], c.at[i]); });
}
inline lanes fms(const lanes& a, const lanes& b, const lanes& c) {
  return by_lane([&](std::size_t i) { return std::fma(a.at[i], b.at[i], -c.at[i]); });
}
inline lanes operator+(const lanes& a, const lanes& b) {
  return by_lane([&](std::size_t i) { return a.at[i] + b.at[i]; });
}
inline lanes operator-(const lanes& a, const lanes& b) {
  return by_lane([&](std::size_t i) { return a.at[i] - b.at[i]; });
}
inline lanes operator*(const lanes& a, const lanes& b) {
  return by_lane([&](std::size_t i) { return a.at[i] * b.at[i]; });
}
inline lanes operator/(const lanes& a, const lanes& b) {
  return by_lane([&](std::size_t i) { return a.at[i] / b.at[i]; });
}
inline lanes at_least(const lanes& a, float low) {
  return by_lane([&](std::size_t i) { return a.at[i] > low ? a.at[i] : low; });
}
inline lanes at_most(const lanes& a, float high) {
  return by_lane([&](std::size_t i) { return a.at[i] < high ? a.at[i] : high; });
}
inline lanes nearest(const lanes& a) {
  return by_lane([&](std::size_t i) { return std::nearbyint(a.at[i]); });
}
inline lanes power_of_two(const lanes& n) {
  return by_lane([&](std::size_t i) {
    const auto bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(n.at[i]) + 127) << 23;
    float v = 0.0F;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  });
}

#endif

/// The first n of 16, the rest zero.
template <class T>
HWY_INLINE lanes load_some(const T* p, std::size_t n) {
  T padded[width] = {};
  for (std::size_t i = 0; i < n; ++i)
    padded[i] = p[i];
  return load(padded);
}
template <class T>
HWY_INLINE lanes load_upto(const T* p, std::size_t n) {
  return n >= width ? load(p) : load_some(p, n);
}
HWY_INLINE void store_upto(const lanes& a, float* p, std::size_t n) {
  if (n >= width) {
    store(a, p);
    return;
  }
  float padded[width];
  store(a, padded);
  for (std::size_t i = 0; i < n; ++i)
    p[i] = padded[i];
}

#if HWY_NATIVE_FMA
/// Folds one register: lane i takes lane i + half, until one is left.
template <class D>
HWY_INLINE float fold_register(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) > 4) {
    const hn::Half<D> half;
    return fold_register(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    v = hn::Add(v, hn::Shuffle1032(v));
    return hn::GetLane(hn::Add(v, hn::Shuffle2301(v)));
  }
}
#endif

/// Folds 16 -> 8 -> 4 -> 2 -> 1: lane i takes lane i + half.
HWY_INLINE float fold(const lanes& a) {
#if HWY_NATIVE_FMA
  lanes v = a;
#pragma GCC unroll 4
  for (std::size_t half = parts / 2; half > 0; half /= 2)
#pragma GCC unroll 4
    for (std::size_t i = 0; i < half; ++i)
      v.part[i] = hn::Add(v.part[i], v.part[i + half]);
  return fold_register(tag(), v.part[0]);
#else
  float v[width];
  store(a, v);
  for (std::size_t half = width / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i)
      v[i] = v[i] + v[i + half];
  return v[0];
#endif
}

/// exp for x in [-87, 87], clamped to it: x = n ln 2 + r, then a polynomial in r (the classic
/// single-precision coefficients of Cephes' expf). Relative error below 2e-7.
HWY_INLINE lanes exponential(const lanes& x_any) {
  const lanes x = at_most(at_least(x_any, -87.0F), 87.0F);
  const lanes n = nearest(x * broadcast(1.44269504F));
  lanes r = fma(n, broadcast(-0.693359375F), x);
  r = fma(n, broadcast(2.12194440e-4F), r);
  lanes p = broadcast(1.9875691500e-4F);
  p = fma(p, r, broadcast(1.3981999507e-3F));
  p = fma(p, r, broadcast(8.3334519073e-3F));
  p = fma(p, r, broadcast(4.1665795894e-2F));
  p = fma(p, r, broadcast(1.6666665459e-1F));
  p = fma(p, r, broadcast(5.0000001201e-1F));
  p = fma(p, r * r, r + broadcast(1.0F));
  return p * power_of_two(n);
}
