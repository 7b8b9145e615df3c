// The arithmetic of the CPU backend. One source, compiled for every instruction set with fused
// multiply-add that the build can reach, chosen at run time; where there is none, std::fma gives
// the same bits, slowly.
//
// Two rules make every result independent of chunk, batch, threads and instruction set:
//   - a matrix product's element is ONE fma chain, in the order of k, from 0;
//   - any other sum runs in 16 lanes (element i in lane i mod 16), then folds 16->8->4->2->1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace baton::gpu::kernels {

/// A bfloat16 by its bits: the upper half of a float.
using bf16 = std::uint16_t;

/// Outputs are packed in panels of this many.
inline constexpr std::size_t panel_outputs = 16;
/// Rows of x that are packed together for large products.
inline constexpr std::size_t strip_rows = 6;
/// Up to this many rows, multiply_few is the faster one.
inline constexpr std::size_t few_rows_max = 12;

/// Weights as W[panels][inputs][16]; exactly one of the pointers is set.
struct panel_view {
  const bf16* half = nullptr;
  const float* full = nullptr;
  std::size_t inputs = 0;
};

/// y[m][n] = sum over k of x[m][k] * w[k][n] for the panels [panel_begin, panel_end).
/// x: float[rows][x_stride], y: float[rows][y_stride] with y_stride >= 16 * panel_end.
void multiply_few(const float* x, std::size_t x_stride, std::size_t rows, const panel_view& w,
                  std::size_t panel_begin, std::size_t panel_end, float* y, std::size_t y_stride);

/// Packs the strips [strip_begin, strip_end) of x for multiply_strips: out[strip][k][6], rows past
/// the end as zero.
void pack_strips(const float* x, std::size_t x_stride, std::size_t rows, std::size_t inputs,
                 std::size_t strip_begin, std::size_t strip_end, float* out);

/// The same product as multiply_few, the same bits, from packed strips.
void multiply_strips(const float* strips, std::size_t rows, const panel_view& w,
                     std::size_t panel_begin, std::size_t panel_end, float* y,
                     std::size_t y_stride);

/// y[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i] (Zhang and Sennrich, "Root mean square layer
/// normalization", 2019). x, weight, y: float[n]
void rms_norm(const float* x, const float* weight, std::size_t n, float eps, float* y);

/// Turns `heads` consecutive heads by one position's angles, pairing element i with i + head_dim/2
/// (the half-split order of Hugging Face's Llama). cosines, sines: float[head_dim / 2]
void rotate_heads(float* heads_data, std::size_t heads, std::size_t head_dim, const float* cosines,
                  const float* sines);

/// out[i] = gate[i] / (1 + exp(-gate[i])) * up[i] (Shazeer, "GLU variants improve transformer",
/// 2020). float[n]
void swiglu(const float* gate, const float* up, std::size_t n, float* out);

/// out[i] = a[i] + b[i]; out may be a or b. float[n]
void add(const float* a, const float* b, std::size_t n, float* out);

/// out[i] = x[i] rounded to the nearest bfloat16, ties to even; a NaN stays one.
void round_to_bf16(const float* x, std::size_t n, bf16* out);

/// One layer's and KV head's part of a paged cache: token t's vector lies in block
/// blocks[t / block_tokens] at (t % block_tokens) * head_dim elements.
struct paged_head {
  const std::byte* keys = nullptr;   ///< of block 0
  const std::byte* values = nullptr; ///< of block 0
  std::size_t block_bytes = 0;       ///< from one block to the next
  std::size_t block_tokens = 0;
  std::size_t head_dim = 0;
  bool full = false; ///< elements are float, else bf16
};

/// Floats of scratch that attend() needs.
constexpr std::size_t attend_scratch_floats(std::size_t heads, std::size_t positions) {
  return heads * (positions + 16);
}

/// Attention of `heads` query heads that share one KV head over positions [0, positions):
/// out = softmax(q k^T / sqrt(head_dim)) v, each (query, head) in the order of the positions.
/// q, out: float[heads][head_dim].
void attend(const paged_head& cache, const std::uint32_t* blocks, std::size_t positions,
            const float* q, std::size_t heads, float* scratch, float* out);

/// The instruction sets that this processor can run, best first, as Highway names them; the
/// std::fma fallback is the last.
std::vector<std::string> runnable_targets();
/// Restricts all kernels to one of them ("" lifts it); for tests. Not to be called while a kernel
/// runs. False when there is no such target.
bool use_target(const std::string& name);

} // namespace baton::gpu::kernels
