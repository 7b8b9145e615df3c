#include "gpu/cpu/plan_check.hpp"

#include "gpu/sampler.hpp"

#include <algorithm>

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::reason;

failure check_tokens(const slice& s, const plan_limits& limits) {
  const auto bad = std::find_if(s.tokens.begin(), s.tokens.end(), [&](std::int32_t token) {
    return token < 0 || static_cast<std::uint32_t>(token) >= limits.shape.vocab;
  });
  if (bad != s.tokens.end())
    return {reason::out_of_range,
            "tokens[" + std::to_string(bad - s.tokens.begin()) + "]: is not a token id below vocab "
              + std::to_string(limits.shape.vocab)};
  const std::uint64_t end = std::uint64_t{s.start} + s.tokens.size();
  if (end > limits.shape.max_positions)
    return {reason::out_of_range, "start: positions end at " + std::to_string(end)
                                    + ", max_positions is "
                                    + std::to_string(limits.shape.max_positions)};
  const std::uint64_t needed = (end + limits.shape.block_tokens - 1) / limits.shape.block_tokens;
  if (s.blocks.size() < needed)
    return {reason::out_of_range, "blocks: " + std::to_string(s.blocks.size()) + " given, "
                                    + std::to_string(needed) + " needed"};
  for (std::uint64_t i = 0; i < needed; ++i)
    if (s.blocks[i] >= limits.arena_blocks)
      return {reason::out_of_range, "blocks[" + std::to_string(i) + "]: "
                                      + std::to_string(s.blocks[i]) + " is not below the arena's "
                                      + std::to_string(limits.arena_blocks)};
  return {};
}

failure check_resume(const slice& s, const plan_limits& limits) {
  if (!s.tokens.empty())
    return {reason::bad_input, "tokens: must be empty when resume is set"};
  if (s.resume.size() != limits.shape.hidden)
    return {reason::bad_input, "resume: has " + std::to_string(s.resume.size())
                                 + " values, hidden is " + std::to_string(limits.shape.hidden)};
  if (s.start == 0 || s.start > limits.shape.max_positions)
    return {reason::out_of_range, "start: " + std::to_string(s.start)
                                    + " is not from 1 to max_positions "
                                    + std::to_string(limits.shape.max_positions)};
  return {};
}

failure check_slice(const slice& s, const plan_limits& limits) {
  if (s.resume.empty() && s.tokens.empty())
    return {reason::bad_input, "tokens: is empty and resume is not set"};
  if (s.sample)
    if (auto f = check_sampling(*s.sample))
      return f;
  return s.resume.empty() ? check_tokens(s, limits) : check_resume(s, limits);
}

} // namespace

failure check_plan(const step_plan& plan, const plan_limits& limits) {
  std::uint64_t rows = 0;
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    rows += plan.slices[i].tokens.size();
    if (auto f = check_slice(plan.slices[i], limits)) {
      f.text = "slice " + std::to_string(i) + " (sequence "
               + std::to_string(plan.slices[i].sequence) + "): " + f.text;
      return f;
    }
  }
  if (rows > limits.rows_max)
    return {reason::out_of_range, "plan: " + std::to_string(rows) + " tokens, rows_max is "
                                    + std::to_string(limits.rows_max)};
  return {};
}

} // namespace baton::gpu
