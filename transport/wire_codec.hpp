// Little-endian reading and writing with a length check at every step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace baton::transport::wire {

class byte_writer {
public:
  template <class T>
  void put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xff));
  }
  void put_bytes(const std::byte* bytes, std::size_t size) {
    bytes_.insert(bytes_.end(), bytes, bytes + size);
  }
  std::vector<std::byte>& bytes() { return bytes_; }

private:
  std::vector<std::byte> bytes_;
};

/// After a read past the end every value is zero and ok() is false.
class byte_reader {
public:
  byte_reader(const std::byte* bytes, std::size_t size) : at_(bytes), left_(size) {}

  template <class T>
  T get() {
    if (!take(sizeof(T)))
      return 0;
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(taken_[i]) << (8 * i)));
    return value;
  }
  /// A byte that must be 0 or 1.
  bool get_flag() {
    const auto value = get<std::uint8_t>();
    ok_ = ok_ && value <= 1;
    return value == 1;
  }
  std::vector<std::byte> get_bytes(std::size_t size) {
    if (!take(size))
      return {};
    return {taken_, taken_ + size};
  }
  /// True when everything read so far was there.
  bool ok() const { return ok_; }
  /// True when, besides, nothing is left over.
  bool finished() const { return ok_ && left_ == 0; }

private:
  bool take(std::size_t size) {
    if (!ok_ || left_ < size) {
      ok_ = false;
      return false;
    }
    taken_ = at_;
    at_ += size;
    left_ -= size;
    return true;
  }

  const std::byte* at_;
  const std::byte* taken_ = nullptr;
  std::size_t left_;
  bool ok_ = true;
};

} // namespace baton::transport::wire
