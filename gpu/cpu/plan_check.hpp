// Whether a plan can be run at all, decided before any of it touches memory.
#pragma once

#include "gpu/device.hpp"

namespace baton::gpu {

/// What a plan is held against.
struct plan_limits {
  geometry shape;
  std::uint32_t arena_blocks = 0;
  std::uint32_t rows_max = 0; ///< tokens of one plan, all slices together
};

/// None when every token, position and block of the plan exists and its slices are of a known kind;
/// else out_of_range or bad_input, naming the slice, its field and the limit.
protocol::failure check_plan(const step_plan& plan, const plan_limits& limits);

} // namespace baton::gpu
