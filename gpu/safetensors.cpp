#include "gpu/safetensors.hpp"

#include <nlohmann/json.hpp>

#include <cstring>
#include <fcntl.h>
#include <limits>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::outcome;
using protocol::reason;
using json = nlohmann::json;

constexpr std::uint64_t header_bytes_max = 100ULL << 20; // the format's own limit

failure bad(const std::string& path, const std::string& what) {
  return {reason::bad_input, path + ": " + what};
}

std::optional<tensor_dtype> parse_dtype(const std::string& name) {
  if (name == "F32")
    return tensor_dtype::f32;
  if (name == "F16")
    return tensor_dtype::f16;
  if (name == "BF16")
    return tensor_dtype::bf16;
  return std::nullopt;
}

/// Reads `shape` and returns the number of bytes it calls for, or nothing on overflow.
std::optional<std::uint64_t> parse_shape(const json& dims, tensor_view& out) {
  std::uint64_t bytes = element_bytes(out.dtype);
  for (const auto& dim : dims) {
    if (!dim.is_number_unsigned())
      return std::nullopt;
    const auto n = dim.get<std::uint64_t>();
    if (n != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / n)
      return std::nullopt;
    bytes *= n;
    out.shape.push_back(n);
  }
  return bytes;
}

/// One entry of the header. `data_bytes` is what follows the header in the file.
outcome<tensor_view> parse_tensor(const std::string& path, const std::string& name,
                                  const json& entry, const std::byte* data,
                                  std::uint64_t data_bytes) {
  const std::string where = "tensor " + name + ": ";
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string())
    return bad(path, where + "no dtype");
  if (!entry.contains("shape") || !entry["shape"].is_array())
    return bad(path, where + "no shape");
  if (!entry.contains("data_offsets") || !entry["data_offsets"].is_array()
      || entry["data_offsets"].size() != 2 || !entry["data_offsets"][0].is_number_unsigned()
      || !entry["data_offsets"][1].is_number_unsigned())
    return bad(path, where + "data_offsets is not a pair of byte offsets");

  tensor_view view;
  view.name = name;
  const auto dtype_name = entry["dtype"].get<std::string>();
  const auto dtype = parse_dtype(dtype_name);
  if (!dtype)
    return failure{reason::unsupported, path + ": " + where + "dtype " + dtype_name
                                          + " is not F32, F16 or BF16"};
  view.dtype = *dtype;
  const auto bytes = parse_shape(entry["shape"], view);
  if (!bytes)
    return bad(path, where + "shape is not a list of sizes, or its product overflows");
  const auto begin = entry["data_offsets"][0].get<std::uint64_t>();
  const auto end = entry["data_offsets"][1].get<std::uint64_t>();
  if (begin > end || end > data_bytes)
    return bad(path, where + "data_offsets [" + std::to_string(begin) + ", " + std::to_string(end)
                       + ") leave the file's " + std::to_string(data_bytes) + " data bytes");
  if (end - begin != *bytes)
    return bad(path, where + "shape calls for " + std::to_string(*bytes)
                       + " bytes, data_offsets give " + std::to_string(end - begin));
  view.data = data + begin;
  view.bytes = *bytes;
  return view;
}

/// The format leaves no holes and no overlaps; a file that has them was cut or spliced.
failure check_coverage(const std::string& path, const std::map<std::string, tensor_view>& tensors,
                       const std::byte* data, std::uint64_t data_bytes) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, const tensor_view*> by_offset;
  for (const auto& entry : tensors) {
    const auto begin = static_cast<std::uint64_t>(entry.second.data - data);
    by_offset[{begin, begin + entry.second.bytes}] = &entry.second;
  }
  std::uint64_t end = 0;
  for (const auto& [range, view] : by_offset) {
    if (range.first != end)
      return bad(path, "tensor " + view->name + ": begins at " + std::to_string(range.first)
                         + " where the one before it ends at " + std::to_string(end));
    end = range.second;
  }
  if (end != data_bytes)
    return bad(path, "tensors end at " + std::to_string(end) + " of " + std::to_string(data_bytes)
                       + " data bytes");
  return {};
}

float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000U) << 16;
  const std::uint32_t exponent = (h >> 10) & 31U;
  const std::uint32_t mantissa = h & 0x3ffU;
  float magnitude = 0.0F;
  if (exponent == 0) {
    magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  } else {
    const std::uint32_t widened = exponent == 31 ? 0x7f800000U | (mantissa << 13)
                                                 : ((exponent + 112) << 23) | (mantissa << 13);
    std::memcpy(&magnitude, &widened, sizeof magnitude);
  }
  std::uint32_t bits = 0;
  std::memcpy(&bits, &magnitude, sizeof bits);
  bits |= sign;
  std::memcpy(&magnitude, &bits, sizeof bits);
  return magnitude;
}

} // namespace

const char* to_string(tensor_dtype d) {
  switch (d) {
  case tensor_dtype::f32: return "F32";
  case tensor_dtype::f16: return "F16";
  case tensor_dtype::bf16: return "BF16";
  }
  return "unknown";
}

float tensor_view::at(std::uint64_t i) const {
  const std::byte* from = data + i * element_bytes(dtype);
  float value = 0.0F;
  if (dtype == tensor_dtype::f32) {
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  std::uint16_t half = 0;
  std::memcpy(&half, from, sizeof half);
  if (dtype == tensor_dtype::f16)
    return half_to_float(half);
  const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

outcome<std::unique_ptr<const safetensors>> safetensors::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return bad(path, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat info {};
  const bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= 8;
  void* base = MAP_FAILED;
  if (regular)
    base = ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  if (base == MAP_FAILED)
    return bad(path, regular ? "cannot be mapped" : "is not a regular file of at least 8 bytes");

  std::unique_ptr<safetensors> file(new safetensors);
  file->base_ = static_cast<const std::byte*>(base);
  file->bytes_ = static_cast<std::size_t>(info.st_size);
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file->base_, sizeof header_bytes);
  if (header_bytes > header_bytes_max || header_bytes > file->bytes_ - 8)
    return bad(path, "header length " + std::to_string(header_bytes) + " exceeds the file's "
                       + std::to_string(file->bytes_) + " bytes or the limit of "
                       + std::to_string(header_bytes_max));
  const char* text = reinterpret_cast<const char*>(file->base_ + 8);
  const json header = json::parse(text, text + header_bytes, nullptr, false);
  if (!header.is_object())
    return bad(path, "header is not a JSON object");

  const std::byte* data = file->base_ + 8 + header_bytes;
  const std::uint64_t data_bytes = file->bytes_ - 8 - header_bytes;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    auto view = parse_tensor(path, name, entry, data, data_bytes);
    if (!view)
      return view.error();
    file->tensors_.emplace(name, std::move(view.value()));
  }
  if (auto f = check_coverage(path, file->tensors_, data, data_bytes))
    return f;
  return std::unique_ptr<const safetensors>(std::move(file));
}

safetensors::~safetensors() {
  if (base_ != nullptr)
    ::munmap(const_cast<std::byte*>(base_), bytes_);
}

} // namespace baton::gpu
