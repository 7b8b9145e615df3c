#include "protocol/batch.hpp"

#include <algorithm>

namespace baton::protocol::rank_group {

namespace {

plan_slice next_decode(const decode_job& job) {
  const auto prompt = static_cast<std::uint32_t>(job.asked.prompt.ids.size());
  if (job.emitted == 0) // the first token comes from the resume state alone
    return {job.asked.sequence, slice_kind::first_token, prompt, 0, {}};
  return {job.asked.sequence, slice_kind::decode, prompt + job.emitted - 1, 1, job.last_token};
}

plan_slice next_chunk(prefill_job& job, std::uint32_t budget) {
  const auto total = static_cast<std::uint32_t>(job.asked.prompt.ids.size());
  const std::uint32_t count = std::min(budget, total - job.planned);
  const bool last = job.planned + count == total;
  const plan_slice slice{job.asked.sequence, last ? slice_kind::last_prefill : slice_kind::prefill,
                         job.planned, count, {}};
  job.planned += count;
  return slice;
}

} // namespace

std::vector<plan_slice> plan_step(batch& b, std::uint64_t step, std::uint32_t chunk_tokens) {
  std::vector<plan_slice> slices;
  for (const auto& [sequence, job] : b.decodes) {
    slices.push_back(next_decode(job));
    b.last_step[sequence] = step;
  }
  std::uint32_t budget = chunk_tokens;
  while (budget > 0 && !b.prefills.empty()) {
    auto& job = b.prefills.front();
    slices.push_back(next_chunk(job, budget));
    budget -= slices.back().count;
    b.last_step[job.asked.sequence] = step;
    if (slices.back().kind == slice_kind::last_prefill) {
      b.leaving_ones[job.asked.sequence] = {step, leaver::computed_prompt};
      b.prefills.pop_front();
    }
  }
  return slices;
}

} // namespace baton::protocol::rank_group
