#include "protocol/script.hpp"

#include "protocol/assert.hpp"
#include "protocol/splitmix.hpp"

#include <algorithm>

namespace baton::protocol {

namespace {

constexpr std::int64_t ms_per_s = 1000;
/// Late enough to meet any phase of a small request, early enough to come before its end.
constexpr std::uint32_t cancel_after_ms_max = 100;

external_id numbered(const std::string& id, std::uint32_t i) {
  return {id + "-" + std::to_string(i)};
}

cancel_plan draw_cancel(splitmix& random, std::uint32_t output_tokens) {
  switch (random.between(0, 2)) {
  case 0: {
    const auto last = static_cast<std::uint32_t>(attempt_phase::decoding);
    return cancel_at_phase{static_cast<attempt_phase>(random.between(0, last))};
  }
  case 1: return cancel_after_ms{random.between(0, cancel_after_ms_max)};
  default: return cancel_after_tokens{random.between(1, output_tokens)};
  }
}

/// Request i of a generator depends on (seed, i) alone: a longer run begins with the shorter one.
scripted_request draw_request(const request_generator& from, std::uint32_t i) {
  splitmix random(splitmix(from.seed).next() ^ i);
  scripted_request r;
  r.spec.external = numbered(from.id, i);
  r.spec.tenant = from.tenant;
  r.spec.queue_ms = limits::queue_ms_default;
  r.spec.sampling.top_p = real::of(1.0F);
  r.spec.sampling.seed = random.next();
  r.spec.prompt_tokens = random.between(from.prompt_length.min, from.prompt_length.max);
  r.spec.output_tokens = random.between(from.output_tokens.min, from.output_tokens.max);
  r.prompt = prompt_length{r.spec.prompt_tokens};
  if (from.rate_per_s != 0)
    r.at_ms = i * ms_per_s / from.rate_per_s;
  if (random.unit() < static_cast<double>(from.cancel_fraction.get()))
    r.cancel = draw_cancel(random, r.spec.output_tokens);
  if (const auto* at = r.cancel ? std::get_if<cancel_at_phase>(&*r.cancel) : nullptr)
    r.spec.fault.cancel_at = to_string(at->phase);
  r.batch = from.id;
  r.batch_open_max = from.max_open;
  return r;
}

} // namespace

std::uint64_t expanded_count(const script& s) {
  std::uint64_t count = 0;
  for (const scripted_request& r : s.requests)
    count += r.count;
  for (const request_generator& g : s.generate)
    count += g.count;
  return count;
}

std::vector<scripted_request> expand(const script& s) {
  std::vector<scripted_request> all;
  for (const scripted_request& r : s.requests)
    for (std::uint32_t i = 0; i < r.count; ++i) {
      all.push_back(r);
      all.back().count = 1;
      if (r.count > 1)
        all.back().spec.external = numbered(r.spec.external.value, i);
    }
  for (const request_generator& g : s.generate)
    for (std::uint32_t i = 0; i < g.count; ++i)
      all.push_back(draw_request(g, i));
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.at_ms < b.at_ms;
  });
  return all;
}

bool has_fault(const request_spec& spec) {
  fault_spec fault = spec.fault;
  fault.cancel_at.clear();
  return fault != fault_spec{};
}

std::vector<std::int32_t> synthetic_prompt(std::uint32_t tokens, std::uint64_t seed,
                                           std::uint32_t vocab) {
  BATON_ASSERT(vocab > 0);
  splitmix random(seed);
  std::vector<std::int32_t> ids(tokens);
  for (std::int32_t& id : ids)
    id = static_cast<std::int32_t>(random.between(0, vocab - 1));
  return ids;
}

} // namespace baton::protocol
