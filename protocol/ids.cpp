#include "protocol/ids.hpp"

#include <tuple>

namespace baton::protocol {

std::string to_hex(std::uint64_t high, std::uint64_t low) {
  static const char digits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[15 - i] = digits[(high >> (4 * i)) & 15];
    text[31 - i] = digits[(low >> (4 * i)) & 15];
  }
  return text;
}

bool from_hex(const std::string& text, std::uint64_t& high, std::uint64_t& low) {
  if (text.size() != 32)
    return false;
  std::uint64_t halves[2] = {0, 0};
  for (std::size_t i = 0; i < 32; ++i) {
    const char c = text[i];
    const bool decimal = c >= '0' && c <= '9';
    if (!decimal && !(c >= 'a' && c <= 'f'))
      return false;
    const int digit = decimal ? c - '0' : c - 'a' + 10;
    halves[i / 16] = (halves[i / 16] << 4) | static_cast<std::uint64_t>(digit);
  }
  high = halves[0];
  low = halves[1];
  return true;
}

bool operator<(const block_ref& a, const block_ref& b) {
  return std::tie(a.block, a.gen) < std::tie(b.block, b.gen);
}

bool operator<(const attempt_id& a, const attempt_id& b) {
  return std::tie(a.epoch, a.request, a.ordinal) < std::tie(b.epoch, b.request, b.ordinal);
}

bool operator<(const reservation_id& a, const reservation_id& b) {
  return std::tie(a.owner, a.number) < std::tie(b.owner, b.number);
}

bool operator<(const lane_id& a, const lane_id& b) {
  return std::tie(a.reservation, a.source, a.destination)
         < std::tie(b.reservation, b.source, b.destination);
}

} // namespace baton::protocol
