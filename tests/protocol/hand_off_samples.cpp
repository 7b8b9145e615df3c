#include "tests/protocol/hand_off_samples.hpp"

#include "protocol/transfer_manifest.hpp"

namespace baton::tests {

using namespace protocol;

namespace {
constexpr std::uint32_t sample_pool_blocks = 8;
}

model_identity sample_model() {
  return {"small",  "w1", "t1", 2, 4, 8, 32, "bf16", sample_block_tokens,
          "block[layer][kv][head][token][dim]", "theta=500000", "cpu", true, "f32"};
}

request_spec sample_spec(const hand_off_shape& shape) {
  request_spec spec;
  spec.external = {"req-1"};
  spec.tenant = {"tenant-1"};
  spec.prompt_tokens = sample_prompt_tokens;
  spec.prompt_digest = "p1";
  spec.output_tokens = sample_output_tokens;
  spec.retries = shape.retries;
  return spec;
}

token_list sample_prompt() { return {{1, 2, 3, 4, 5, 6, 7, 8, 9}}; }

attempt_id sample_attempt(std::uint32_t ordinal) { return {{1, 2}, ordinal, {1}}; }

source_side sample_source(const hand_off_shape& shape) {
  source_side source{{shape.in_place ? "D3" : "P7"}, shape.source_tp, {}};
  for (std::uint32_t rank = 0; rank < shape.source_tp; ++rank)
    source.ranks.push_back({7, rank + 1});
  return source;
}

reserve_request sample_reserve(const hand_off_shape& shape, std::uint32_t ordinal) {
  return {sample_attempt(ordinal), sample_spec(shape), sample_prompt(), sample_source(shape), 0};
}

form_pool sample_pool(const std::string& group, std::uint32_t blocks, std::uint32_t tp_degree) {
  form_pool pool;
  pool.group = {group};
  pool.owner = {group == "D3" ? 3U : 7U, 1};
  pool.blocks = blocks;
  pool.block_bytes = 1024;
  pool.block_tokens = sample_block_tokens;
  pool.tp_degree = tp_degree;
  pool.decode_slots = group == "D3" ? 2 : 0;
  pool.quarantine_blocks_max = blocks;
  pool.waiting_max = 2;
  return pool;
}

open_reservation sample_granted(const hand_off_shape& shape) {
  auto formed = sample_pool("D3", sample_pool_blocks, shape.destination_tp);
  formed.mapped = shape.mapped;
  auto s = pool::step({}, formed, {}).state;
  return std::get<open_reservation>(pool::step(s, sample_reserve(shape), {}).effects.at(0));
}

begin_reservation sample_begin(const hand_off_shape& shape) {
  return {sample_granted(shape), sample_model(), sample_lease_ms};
}

open_hold sample_hold(const hand_off_shape& shape) {
  auto granted = sample_granted(shape).granted;
  granted.lease_ms = sample_lease_ms;
  const char* group = shape.in_place ? "D3" : "P7";
  auto s = pool::step({}, sample_pool(group, sample_pool_blocks, shape.source_tp), {}).state;
  const start_prefill asked{sample_attempt(), sample_spec(shape), sample_prompt(), granted};
  return std::get<open_hold>(pool::step(s, asked, {}).effects.at(0));
}

begin_hold sample_begin_hold(const hand_off_shape& shape, std::int64_t retention_ms) {
  return {sample_hold(shape), sample_model(), shape.source_tp, sample_block_tokens, retention_ms};
}

manifest sample_offer(const hand_off_shape& shape) {
  return source_manifest(sample_model(), shape.source_tp, sample_hold(shape).asked);
}

commit sample_commit(const grant& granted) {
  return {granted.attempt, granted.reservation, generation_sum(granted.blocks)};
}

} // namespace baton::tests
