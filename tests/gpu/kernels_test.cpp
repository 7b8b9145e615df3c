// The kernels against plain loops that spell out their order.
#include "gpu/cpu/kernels.hpp"
#include "gpu/cpu/packed_matrix.hpp"
#include "tests/gpu/support.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace baton::gpu;
using namespace baton::gpu::test;

namespace {

std::vector<float> some_floats(std::size_t count, std::uint32_t salt) {
  const auto tokens = some_tokens(count, 4001, salt);
  std::vector<float> values;
  for (const auto t : tokens)
    values.push_back((static_cast<float>(t) - 2000.0F) / 1500.0F);
  return values;
}

std::vector<kernels::bf16> halves(const std::vector<float>& values) {
  std::vector<kernels::bf16> out(values.size());
  kernels::round_to_bf16(values.data(), values.size(), out.data());
  return out;
}

/// Runs `f` on every target, named in failures.
template <class F>
void on_each_target(F f) {
  for (const auto& target : kernels::runnable_targets()) {
    CAPTURE(target);
    REQUIRE(kernels::use_target(target));
    f();
  }
  kernels::use_target("");
}

template <class W>
tensor_view view_of(const std::vector<W>& values, tensor_dtype dtype, std::uint64_t rows,
                    std::uint64_t columns) {
  return {"w", dtype, {rows, columns}, reinterpret_cast<const std::byte*>(values.data()),
          values.size() * sizeof(W)};
}

void check_product(const tensor_view& w, std::size_t rows) {
  const std::size_t outputs = w.shape[0];
  const std::size_t inputs = w.shape[1];
  const auto x = some_floats(rows * inputs, 77);
  std::vector<float> expected(rows * outputs);
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t n = 0; n < outputs; ++n) {
      float sum = 0.0F;
      for (std::size_t k = 0; k < inputs; ++k)
        sum = std::fma(x[m * inputs + k], w.at(n * inputs + k), sum);
      expected[m * outputs + n] = sum;
    }
  const packed_matrix packed({{&w, 0, outputs, 0, inputs}});
  on_each_target([&] {
    thread_pool pool(1);
    std::vector<float> strips;
    std::vector<float> y(rows * packed.outputs_padded(), NAN);
    packed.multiply(x.data(), inputs, rows, y.data(), packed.outputs_padded(), strips, pool);
    std::vector<float> got;
    for (std::size_t m = 0; m < rows; ++m)
      got.insert(got.end(), y.begin() + static_cast<long>(m * packed.outputs_padded()),
                 y.begin() + static_cast<long>(m * packed.outputs_padded() + outputs));
    CHECK(same_bits(got, expected));
  });
}

} // namespace

TEST_CASE("each element of a product is one fma chain in the order of k") {
  const std::size_t outputs = 5 * 16 + 3;
  const std::size_t inputs = 600; // more than two blocks of k
  const auto full = some_floats(outputs * inputs, 3);
  const auto half = halves(full);
  for (const std::size_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 25, 199, 200}) {
    CAPTURE(rows);
    check_product(view_of(full, tensor_dtype::f32, outputs, inputs), rows);
    check_product(view_of(half, tensor_dtype::bf16, outputs, inputs), rows);
  }
}

TEST_CASE("bf16 rounding is to nearest, ties to even, and keeps NaN") {
  const std::vector<float> values{1.0F,          1.00390625F, 1.01171875F, -1.00390625F,
                                  1.0040F,       0.0F,        -0.0F,       3.4e38F,
                                  std::nanf(""), 1e-40F};
  const std::vector<kernels::bf16> expected{0x3f80, 0x3f80, 0x3f82, 0xbf80, 0x3f81,
                                            0x0000, 0x8000, 0x7f80, 0x7fc0, 0x0001};
  on_each_target([&] { CHECK(halves(values) == expected); });
}

TEST_CASE("normalisation, rotation and SwiGLU agree with their formulas") {
  for (const std::size_t n : {8, 16, 40, 192}) {
    const auto x = some_floats(n, 5);
    const auto weight = some_floats(n, 6);
    on_each_target([&] {
      std::vector<float> y(n);
      kernels::rms_norm(x.data(), weight.data(), n, 1e-5F, y.data());
      double squares = 0.0;
      for (const float v : x)
        squares += double{v} * v;
      const double scale = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
      for (std::size_t i = 0; i < n; ++i)
        CHECK(y[i] == doctest::Approx(x[i] * scale * weight[i]).epsilon(1e-5));

      kernels::swiglu(x.data(), weight.data(), n, y.data());
      for (std::size_t i = 0; i < n; ++i)
        CHECK(y[i]
              == doctest::Approx(x[i] / (1.0 + std::exp(-double{x[i]})) * weight[i]).epsilon(1e-5));

      std::vector<float> cosines(n / 2);
      std::vector<float> sines(n / 2);
      for (std::size_t i = 0; i < n / 2; ++i) {
        cosines[i] = static_cast<float>(std::cos(0.1 * static_cast<double>(i)));
        sines[i] = static_cast<float>(std::sin(0.1 * static_cast<double>(i)));
      }
      y = x;
      kernels::rotate_heads(y.data(), 1, n, cosines.data(), sines.data());
      for (std::size_t i = 0; i < n / 2; ++i) {
        CHECK(y[i] == doctest::Approx(x[i] * cosines[i] - x[i + n / 2] * sines[i]).epsilon(1e-4));
        CHECK(y[i + n / 2]
              == doctest::Approx(x[i + n / 2] * cosines[i] + x[i] * sines[i]).epsilon(1e-4));
      }
    });
  }
}

TEST_CASE("SwiGLU stays finite for gates of any size") {
  const std::vector<float> gate{-1e30F, -100.0F, 0.0F, 100.0F, 1e30F};
  const std::vector<float> up(5, 1.0F);
  on_each_target([&] {
    std::vector<float> out(5);
    kernels::swiglu(gate.data(), up.data(), 5, out.data());
    CHECK(std::isfinite(out[0]));
    CHECK(out[2] == 0.0F);
    CHECK(out[3] == 100.0F);
    CHECK(out[4] == 1e30F);
  });
}

TEST_CASE("attention agrees with its formula, for any number of heads and any length") {
  const std::size_t head_dim = 24;
  const std::size_t block_tokens = 4;
  const std::size_t positions = 35;
  const std::vector<std::uint32_t> blocks{7, 0, 3, 8, 1, 6, 2, 5, 4};
  const std::size_t plane = block_tokens * head_dim;
  const auto memory = some_floats(9 * 2 * plane, 8); // [block][k|v][token][head_dim]
  kernels::paged_head cache;
  cache.keys = reinterpret_cast<const std::byte*>(memory.data());
  cache.values = cache.keys + plane * sizeof(float);
  cache.block_bytes = 2 * plane * sizeof(float);
  cache.block_tokens = block_tokens;
  cache.head_dim = head_dim;
  cache.full = true;
  const auto at = [&](std::size_t t, std::size_t which, std::size_t i) {
    return double{memory[(blocks[t / block_tokens] * 2 + which) * plane
                         + t % block_tokens * head_dim + i]};
  };
  for (const std::size_t heads : {1, 2, 3, 4, 5, 8}) {
    const auto q = some_floats(heads * head_dim, 9);
    on_each_target([&] {
      std::vector<float> scratch(kernels::attend_scratch_floats(heads, positions));
      std::vector<float> out(heads * head_dim);
      kernels::attend(cache, blocks.data(), positions, q.data(), heads, scratch.data(), out.data());
      for (std::size_t h = 0; h < heads; ++h) {
        std::vector<double> e(positions);
        double total = 0.0;
        for (std::size_t t = 0; t < positions; ++t) {
          double dot = 0.0;
          for (std::size_t i = 0; i < head_dim; ++i)
            dot += q[h * head_dim + i] * at(t, 0, i);
          total += e[t] = std::exp(dot / std::sqrt(static_cast<double>(head_dim)));
        }
        for (std::size_t i = 0; i < head_dim; ++i) {
          double mixed = 0.0;
          for (std::size_t t = 0; t < positions; ++t)
            mixed += e[t] / total * at(t, 1, i);
          CHECK(out[h * head_dim + i] == doctest::Approx(mixed).epsilon(1e-4));
        }
      }
    });
  }
}
