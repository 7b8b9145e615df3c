#include "gpu/cpu/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

// SSE4 and SSSE3 have no fused multiply-add and would only repeat the fallback; SVE registers have
// no fixed size to build 16 lanes from, and its processors run the NEON code.
#define HWY_DISABLED_TARGETS \
  (HWY_SSE4 | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#define HWY_TARGET_INCLUDE "gpu/cpu/kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace baton::gpu::kernels {
namespace HWY_NAMESPACE {
namespace {
#include "gpu/cpu/lanes.inl"

#include "gpu/cpu/attention.inl"
#include "gpu/cpu/gemm.inl"
#include "gpu/cpu/rows.inl"
} // namespace
} // namespace HWY_NAMESPACE
} // namespace baton::gpu::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baton::gpu::kernels {

namespace {
HWY_EXPORT(multiply_few_impl);
HWY_EXPORT(multiply_strips_impl);
HWY_EXPORT(pack_strips_impl);
HWY_EXPORT(rms_norm_impl);
HWY_EXPORT(rotate_heads_impl);
HWY_EXPORT(swiglu_impl);
HWY_EXPORT(add_impl);
HWY_EXPORT(round_to_bf16_impl);
HWY_EXPORT(attend_impl);
} // namespace

void multiply_few(const float* x, std::size_t x_stride, std::size_t rows, const panel_view& w,
                  std::size_t panel_begin, std::size_t panel_end, float* y,
                  std::size_t y_stride) {
  HWY_DYNAMIC_DISPATCH(multiply_few_impl)
  (x, x_stride, rows, w, panel_begin, panel_end, y, y_stride);
}

void pack_strips(const float* x, std::size_t x_stride, std::size_t rows, std::size_t inputs,
                 std::size_t strip_begin, std::size_t strip_end, float* out) {
  HWY_DYNAMIC_DISPATCH(pack_strips_impl)(x, x_stride, rows, inputs, strip_begin, strip_end, out);
}

void multiply_strips(const float* strips, std::size_t rows, const panel_view& w,
                     std::size_t panel_begin, std::size_t panel_end, float* y,
                     std::size_t y_stride) {
  HWY_DYNAMIC_DISPATCH(multiply_strips_impl)
  (strips, rows, w, panel_begin, panel_end, y, y_stride);
}

void rms_norm(const float* x, const float* weight, std::size_t n, float eps, float* y) {
  HWY_DYNAMIC_DISPATCH(rms_norm_impl)(x, weight, n, eps, y);
}

void rotate_heads(float* heads_data, std::size_t heads, std::size_t head_dim, const float* cosines,
                  const float* sines) {
  HWY_DYNAMIC_DISPATCH(rotate_heads_impl)(heads_data, heads, head_dim, cosines, sines);
}

void swiglu(const float* gate, const float* up, std::size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(swiglu_impl)(gate, up, n, out);
}

void add(const float* a, const float* b, std::size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(add_impl)(a, b, n, out);
}

void round_to_bf16(const float* x, std::size_t n, bf16* out) {
  HWY_DYNAMIC_DISPATCH(round_to_bf16_impl)(x, n, out);
}

void attend(const paged_head& cache, const std::uint32_t* blocks, std::size_t positions,
            const float* q, std::size_t heads, float* scratch, float* out) {
  HWY_DYNAMIC_DISPATCH(attend_impl)(cache, blocks, positions, q, heads, scratch, out);
}

std::vector<std::string> runnable_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets())
    names.push_back(hwy::TargetName(target));
  return names;
}

bool use_target(const std::string& name) {
  hwy::SetSupportedTargetsForTest(0);
  if (name.empty())
    return true;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets())
    if (name == hwy::TargetName(target)) {
      hwy::SetSupportedTargetsForTest(target);
      return true;
    }
  return false;
}

} // namespace baton::gpu::kernels
#endif
