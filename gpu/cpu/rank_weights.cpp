#include "gpu/cpu/rank_weights.hpp"

#include <algorithm>
#include <new>

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::outcome;
using protocol::reason;

std::vector<float> widen(const tensor_view& tensor) {
  std::vector<float> values(tensor.elements());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = tensor.at(i);
  return values;
}

/// Rank `rank`'s rows of a tensor that is split along them into equal shares of `share` rows.
weight_part row_share(const tensor_view& tensor, std::uint64_t rank, std::uint64_t share) {
  const std::uint64_t begin = std::min(tensor.shape[0], rank * share);
  const std::uint64_t end = std::min(tensor.shape[0], begin + share);
  return {&tensor, begin, end - begin, 0, tensor.shape[1]};
}

failure unsupported(const std::string& text) { return {reason::unsupported, text}; }

} // namespace

outcome<geometry> rank_geometry(const model_config& c, const rank_options& o) {
  const std::string degree = "tp_degree " + std::to_string(o.tp_degree);
  if (o.tp_degree != 1 && o.tp_degree != 2 && o.tp_degree != 4)
    return unsupported(degree + ": is not 1, 2 or 4");
  if (o.tp_rank >= o.tp_degree)
    return failure{reason::out_of_range,
                   "tp_rank " + std::to_string(o.tp_rank) + ": is not below " + degree};
  if (c.kv_heads % o.tp_degree != 0)
    return unsupported(degree + ": does not divide num_key_value_heads "
                       + std::to_string(c.kv_heads));
  if (c.heads * c.head_dim % input_quarters != 0)
    return unsupported("num_attention_heads * head_dim " + std::to_string(c.heads * c.head_dim)
                       + ": is not a multiple of 4 (the K split of o_proj)");
  if (c.intermediate % input_quarters != 0)
    return unsupported("intermediate_size " + std::to_string(c.intermediate)
                       + ": is not a multiple of 4 (the K split of down_proj)");
  if (o.block_tokens == 0 || o.block_tokens > 4096)
    return failure{reason::bad_input,
                   "block_tokens " + std::to_string(o.block_tokens) + ": is not from 1 to 4096"};
  geometry g;
  g.layers = c.layers;
  g.heads = c.heads;
  g.kv_heads = c.kv_heads;
  g.head_dim = c.head_dim;
  g.hidden = c.hidden;
  g.vocab = c.vocab;
  g.max_positions = c.max_positions;
  g.block_tokens = o.block_tokens;
  g.kv_element_bytes = o.kv == kv_dtype::f32 ? 4 : 2;
  g.tp_rank = o.tp_rank;
  g.tp_degree = o.tp_degree;
  return g;
}

rank_weights::rank_weights(std::shared_ptr<const model> source, const geometry& shape)
  : source_(std::move(source)), shape_(shape) {
  for (std::uint32_t layer = 0; layer < shape_.layers; ++layer)
    layers_.push_back(pack_layer(layer));
  final_norm_ = widen(source_->tensor("model.norm.weight"));
  lm_head_ = packed_matrix({row_share(source_->lm_head(), shape_.tp_rank, vocab_share())});
}

layer_weights rank_weights::pack_layer(std::uint32_t layer) const {
  const auto tensor = [&](const char* name) -> const tensor_view& {
    return source_->layer_tensor(layer, name);
  };
  const std::uint64_t rank = shape_.tp_rank;
  const std::uint64_t queries = std::uint64_t{heads()} * shape_.head_dim;
  const std::uint64_t keys = std::uint64_t{kv_heads()} * shape_.head_dim;
  layer_weights w;
  w.attention_norm = widen(tensor("input_layernorm"));
  w.query_key_value = packed_matrix({row_share(tensor("self_attn.q_proj"), rank, queries),
                                     row_share(tensor("self_attn.k_proj"), rank, keys),
                                     row_share(tensor("self_attn.v_proj"), rank, keys)});
  w.attention_out = pack_quarters(tensor("self_attn.o_proj"));
  w.mlp_norm = widen(tensor("post_attention_layernorm"));
  w.gate_up = packed_matrix({row_share(tensor("mlp.gate_proj"), rank, intermediate()),
                             row_share(tensor("mlp.up_proj"), rank, intermediate())});
  w.mlp_out = pack_quarters(tensor("mlp.down_proj"));
  return w;
}

std::vector<packed_matrix> rank_weights::pack_quarters(const tensor_view& tensor) const {
  const std::uint64_t columns = tensor.shape[1] / input_quarters;
  const std::uint32_t held = input_quarters / shape_.tp_degree;
  std::vector<packed_matrix> quarters;
  for (std::uint32_t i = 0; i < held; ++i) {
    const std::uint64_t quarter = shape_.tp_rank * held + i;
    quarters.push_back(
      packed_matrix({{&tensor, 0, tensor.shape[0], quarter * columns, columns}}));
  }
  return quarters;
}

void rank_weights::embed(std::int32_t token, float* out) const {
  const auto& table = source_->tensor("model.embed_tokens.weight");
  const std::uint64_t start = static_cast<std::uint64_t>(token) * shape_.hidden;
  for (std::uint32_t i = 0; i < shape_.hidden; ++i)
    out[i] = table.at(start + i);
}

outcome<std::shared_ptr<const rank_weights>>
pack_rank_weights(std::shared_ptr<const model> source, const rank_options& options) {
  auto shape = rank_geometry(source->config(), options);
  if (!shape)
    return shape.error();
  try {
    return std::make_shared<const rank_weights>(std::move(source), shape.value());
  } catch (const std::bad_alloc&) {
    return failure{reason::no_capacity, "not enough memory to pack the weights"};
  }
}

} // namespace baton::gpu
