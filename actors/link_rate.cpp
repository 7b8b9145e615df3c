#include "actors/link_rate.hpp"

#include <algorithm>

namespace baton::actors {

std::optional<std::uint64_t> rank_link_rate::look(const transport::endpoint::counters& now) {
  const std::uint64_t bytes = now.bytes_landed - bytes_;
  const std::uint64_t ns = now.moving_ns - moving_ns_;
  if (bytes < bytes_of_a_measurement || ns == 0)
    return {};
  bytes_ = now.bytes_landed;
  moving_ns_ = now.moving_ns;
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(ns));
}

void link_rate::take(protocol::rank_id rank, std::uint64_t bytes_per_s) {
  std::uint64_t& known = of_ranks_[rank];
  known = known == 0 || bytes_per_s < known ? bytes_per_s : known + (bytes_per_s - known) / 2;
}

std::uint64_t link_rate::bytes_per_s(std::uint32_t ranks) const {
  if (of_ranks_.size() < ranks || of_ranks_.empty())
    return 0;
  const auto slowest = std::min_element(of_ranks_.begin(), of_ranks_.end(),
                                        [](const auto& a, const auto& b) {
                                          return a.second < b.second;
                                        });
  return slowest->second * of_ranks_.size();
}

} // namespace baton::actors
