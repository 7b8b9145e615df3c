// A .safetensors file, mapped read-only, with every offset checked before any byte is used.
//
//   | u64 header length | JSON header: name -> {dtype, shape, data_offsets} | tensor bytes ... |
#pragma once

#include "protocol/outcome.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace baton::gpu {

enum class tensor_dtype : std::uint8_t { f32, f16, bf16 };

const char* to_string(tensor_dtype d);
constexpr std::size_t element_bytes(tensor_dtype d) { return d == tensor_dtype::f32 ? 4 : 2; }

/// One tensor's place in the mapping; valid as long as its safetensors object lives.
struct tensor_view {
  std::string name;
  tensor_dtype dtype = tensor_dtype::f32;
  std::vector<std::uint64_t> shape;
  const std::byte* data = nullptr; ///< not necessarily aligned to the element
  std::uint64_t bytes = 0;

  std::uint64_t elements() const { return bytes / element_bytes(dtype); }
  /// Element `i` in row-major order, widened to float (exact for every dtype).
  float at(std::uint64_t i) const;
};

/// An open file. Neither copied nor moved: views point into it.
class safetensors {
public:
  /// Maps and checks a file. Errors name the file, the tensor and the reason (bad_input, or
  /// unsupported for a dtype other than F32, F16 and BF16).
  static protocol::outcome<std::unique_ptr<const safetensors>> open(const std::string& path);

  safetensors(const safetensors&) = delete;
  safetensors& operator=(const safetensors&) = delete;
  ~safetensors();

  const std::map<std::string, tensor_view>& tensors() const { return tensors_; }

private:
  safetensors() = default;

  const std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::map<std::string, tensor_view> tensors_;
};

} // namespace baton::gpu
