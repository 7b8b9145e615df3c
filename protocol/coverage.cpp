#include "protocol/coverage.hpp"

namespace baton::protocol {

mark_result coverage::mark(std::uint32_t piece) {
  if (piece >= landed_.size())
    return mark_result::out_of_range;
  if (complete())
    return mark_result::refused;
  if (landed_[piece])
    return mark_result::duplicate;
  landed_[piece] = true;
  --missing_;
  return mark_result::added;
}

} // namespace baton::protocol
