#include "protocol/transfer_manifest.hpp"

namespace baton::protocol {

namespace {

void describe_resume(manifest& m, const sampling_spec& sampling, std::uint32_t prompt_tokens) {
  m.resume = "final_hidden_f32";
  m.first_token_owner = "decode";
  m.sampler = sampling.temperature.get() == 0.0F ? "greedy" : "counter_v1";
  m.sampler_counter = prompt_tokens; // the first sampled token takes this position
}

void describe_partition(manifest& m, std::uint32_t source_tp, std::uint32_t destination_tp) {
  m.source_tp = source_tp;
  m.destination_tp = destination_tp;
  m.head_partition = "contiguous";
  m.converter = source_tp == destination_tp ? "" : "split_heads";
}

void describe_grant(manifest& m, const attempt_id& attempt, const grant& granted) {
  m.attempt = attempt;
  m.reservation = granted.reservation;
  m.generation_sum = generation_sum(granted.blocks);
  m.destination = granted.destination;
}

} // namespace

manifest destination_manifest(const model_identity& own_model, const reserve_request& asked,
                              const grant& granted) {
  manifest m;
  describe_grant(m, asked.attempt, granted);
  m.model = own_model;
  m.prompt_digest = asked.spec.prompt_digest;
  m.prompt_tokens = asked.spec.prompt_tokens;
  m.range_begin = granted.prefix_tokens;
  m.range_end = asked.spec.prompt_tokens;
  describe_partition(m, asked.source.tp_degree, granted.tp_degree);
  describe_resume(m, asked.spec.sampling, asked.spec.prompt_tokens);
  return m;
}

manifest source_manifest(const model_identity& own_model, std::uint32_t own_tp_degree,
                         const start_prefill& asked) {
  manifest m;
  describe_grant(m, asked.attempt, asked.granted);
  m.model = own_model;
  m.prompt_digest = asked.spec.prompt_digest;
  m.prompt_tokens = static_cast<std::uint32_t>(asked.prompt.ids.size());
  m.range_begin = asked.granted.prefix_tokens;
  m.range_end = m.prompt_tokens;
  describe_partition(m, own_tp_degree, asked.granted.tp_degree);
  describe_resume(m, asked.spec.sampling, m.prompt_tokens);
  return m;
}

std::uint64_t generation_sum(const std::vector<block_ref>& blocks) {
  std::uint64_t sum = 0;
  for (const auto& ref : blocks)
    sum += ref.gen.value;
  return sum;
}

} // namespace baton::protocol
