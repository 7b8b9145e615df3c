#include "tests/sim/samples.hpp"

namespace baton::sim {

using namespace protocol;

model_identity small_model() {
  return {"small",  "w1", "t1", 2, 4, 8, 32, "bf16", small_block_tokens,
          "block[layer][kv][head][token][dim]", "theta=500000", "cpu", true, "f32"};
}

open_request small_request(std::uint16_t index, const request_plan& plan) {
  request_spec spec;
  spec.external = {"r" + std::to_string(index + 1)};
  spec.tenant = {"t"};
  spec.prompt_tokens = plan.prompt_blocks * small_block_tokens - plan.output_tokens;
  spec.prompt_digest = "p" + std::to_string(index + 1);
  spec.output_tokens = plan.output_tokens;
  spec.retries = plan.retries;
  spec.queue_ms = plan.waits ? 10'000 : 0;
  spec.deadline_ms = 20'000;
  return {request_id_of(index), spec, {1}};
}

form_pool small_pool(const cluster_shape& shape, group_life g) {
  const bool decodes = shape.decodes(g.group);
  form_pool pool;
  pool.group = {group_text({g.group, 0}, shape.prefill_groups)};
  pool.owner = life_of(g, 0);
  pool.blocks = decodes ? shape.decode_blocks : shape.prefill_blocks;
  pool.block_bytes = 1024;
  pool.block_tokens = small_block_tokens;
  pool.tp_degree = shape.ranks(g.group);
  pool.decode_slots = decodes ? shape.decode_slots : 0;
  pool.quarantine_blocks_max = pool.blocks;
  pool.waiting_max = shape.waiting_max;
  pool.mapped = shape.mapped && decodes;
  return pool;
}

} // namespace baton::sim
