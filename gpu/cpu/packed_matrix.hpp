// Weights repacked for the kernels: W[outputs/16][inputs][16], bf16 as it is, everything else as
// float, so that nothing is rounded.
#pragma once

#include "gpu/cpu/kernels.hpp"
#include "gpu/cpu/thread_pool.hpp"
#include "gpu/safetensors.hpp"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

namespace baton::gpu {

/// A rectangle of a [rows][columns] weight tensor: its rows become outputs, its columns inputs.
struct weight_part {
  const tensor_view* tensor = nullptr;
  std::uint64_t row = 0;
  std::uint64_t rows = 0;
  std::uint64_t column = 0;
  std::uint64_t columns = 0;
};

class packed_matrix {
public:
  packed_matrix() = default;

  /// Stacks `parts`, which have equal columns, along the outputs, and pads with zero outputs to a
  /// multiple of 16.
  explicit packed_matrix(const std::vector<weight_part>& parts);

  std::size_t inputs() const { return view_.inputs; }
  /// Padded to whole panels: the least row stride of y.
  std::size_t outputs_padded() const { return panels_ * kernels::panel_outputs; }

  /// y[m][n] = sum over k of x[m][k] W[n][k]. x: float[rows][x_stride], y: float[rows][y_stride],
  /// y_stride >= outputs_padded(). `strips` is scratch, grown as needed.
  void multiply(const float* x, std::size_t x_stride, std::size_t rows, float* y,
                std::size_t y_stride, std::vector<float>& strips, thread_pool& pool) const;

private:
  struct free_memory {
    void operator()(void* p) const { std::free(p); }
  };

  std::unique_ptr<void, free_memory> memory_;
  kernels::panel_view view_;
  std::size_t panels_ = 0;
};

} // namespace baton::gpu
