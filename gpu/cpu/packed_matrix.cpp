#include "gpu/cpu/packed_matrix.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace baton::gpu {

namespace {

using kernels::panel_outputs;

/// Where output n of the stack comes from; null for padding.
struct source_row {
  const weight_part* part = nullptr;
  std::uint64_t row = 0;
};

std::vector<source_row> stack_rows(const std::vector<weight_part>& parts, std::size_t padded) {
  std::vector<source_row> rows;
  rows.reserve(padded);
  for (const auto& part : parts)
    for (std::uint64_t r = 0; r < part.rows; ++r)
      rows.push_back({&part, part.row + r});
  rows.resize(padded);
  return rows;
}

/// Copies one row's `inputs` columns to every 16th element from `to`.
void copy_row(const source_row& from, std::size_t inputs, kernels::bf16* to) {
  const auto& tensor = *from.part->tensor;
  const std::uint64_t start = from.row * tensor.shape[1] + from.part->column;
  const std::byte* bytes = tensor.data + start * sizeof(kernels::bf16);
  for (std::size_t k = 0; k < inputs; ++k)
    std::memcpy(to + k * panel_outputs, bytes + k * sizeof *to, sizeof *to);
}

void copy_row(const source_row& from, std::size_t inputs, float* to) {
  const auto& tensor = *from.part->tensor;
  const std::uint64_t start = from.row * tensor.shape[1] + from.part->column;
  for (std::size_t k = 0; k < inputs; ++k)
    to[k * panel_outputs] = tensor.at(start + k);
}

template <class W>
void fill(const std::vector<source_row>& rows, std::size_t inputs, W* panels) {
  for (std::size_t n = 0; n < rows.size(); ++n) {
    W* to = panels + (n / panel_outputs) * inputs * panel_outputs + n % panel_outputs;
    if (rows[n].part != nullptr)
      copy_row(rows[n], inputs, to);
    else
      for (std::size_t k = 0; k < inputs; ++k)
        to[k * panel_outputs] = W{};
  }
}

} // namespace

packed_matrix::packed_matrix(const std::vector<weight_part>& parts) {
  std::size_t outputs = 0;
  bool all_half = true;
  for (const auto& part : parts) {
    outputs += part.rows;
    all_half = all_half && part.tensor->dtype == tensor_dtype::bf16;
  }
  view_.inputs = parts.front().columns;
  panels_ = (outputs + panel_outputs - 1) / panel_outputs;
  const auto rows = stack_rows(parts, outputs_padded());
  const std::size_t elements = rows.size() * view_.inputs;
  const std::size_t bytes = 64 + elements * (all_half ? sizeof(kernels::bf16) : sizeof(float));
  memory_.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  if (!memory_)
    throw std::bad_alloc(); // as any container would; caught where the weights are packed
  if (all_half) {
    auto* panels = static_cast<kernels::bf16*>(memory_.get());
    fill(rows, view_.inputs, panels);
    view_.half = panels;
  } else {
    auto* panels = static_cast<float*>(memory_.get());
    fill(rows, view_.inputs, panels);
    view_.full = panels;
  }
}

void packed_matrix::multiply(const float* x, std::size_t x_stride, std::size_t rows, float* y,
                             std::size_t y_stride, std::vector<float>& strips,
                             thread_pool& pool) const {
  // A few chunks per thread even out a busy machine; one for a single thread keeps panels together.
  const std::size_t chunks = pool.threads() == 1 ? 1 : pool.threads() * 4;
  const std::size_t grain = std::max<std::size_t>(4, (panels_ + chunks - 1) / chunks);
  if (rows <= kernels::few_rows_max) {
    pool.run(panels_, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
      kernels::multiply_few(x, x_stride, rows, view_, begin, end, y, y_stride);
    });
    return;
  }
  const std::size_t strip_count = (rows + kernels::strip_rows - 1) / kernels::strip_rows;
  const std::size_t needed = strip_count * kernels::strip_rows * view_.inputs;
  if (strips.size() < needed)
    strips.resize(needed);
  pool.run(strip_count, 16, [&](std::size_t begin, std::size_t end, std::size_t) {
    kernels::pack_strips(x, x_stride, rows, view_.inputs, begin, end, strips.data());
  });
  pool.run(panels_, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
    kernels::multiply_strips(strips.data(), rows, view_, begin, end, y, y_stride);
  });
}

} // namespace baton::gpu
