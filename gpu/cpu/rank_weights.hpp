// One rank's share of a model.
//
// q, k, v, gate, up and the LM head are split along their outputs; o_proj and down_proj along their
// inputs, always into four quarters, of which a rank holds 4 / tp_degree. Their products are added
// as (p0 + p1) + (p2 + p3), so TP 1, 2 and 4 add in one and the same tree.
#pragma once

#include "gpu/cpu/llama_executor.hpp"
#include "gpu/cpu/packed_matrix.hpp"

#include <vector>

namespace baton::gpu {

inline constexpr std::uint32_t input_quarters = 4;

struct layer_weights {
  std::vector<float> attention_norm; ///< float[hidden]
  packed_matrix query_key_value;     ///< outputs [heads*head_dim | kv*head_dim | kv*head_dim]
  std::vector<packed_matrix> attention_out; ///< [quarters of this rank], outputs [hidden]
  std::vector<float> mlp_norm;              ///< float[hidden]
  packed_matrix gate_up;                    ///< outputs [intermediate | intermediate] of this rank
  std::vector<packed_matrix> mlp_out;       ///< [quarters of this rank], outputs [hidden]
};

class rank_weights {
public:
  rank_weights(std::shared_ptr<const model> source, const geometry& shape);

  const model& source() const { return *source_; }
  /// The geometry that these weights were packed for.
  const geometry& shape() const { return shape_; }
  std::uint32_t heads() const { return shape_.heads / shape_.tp_degree; }
  std::uint32_t kv_heads() const { return shape_.kv_heads / shape_.tp_degree; }
  std::uint32_t intermediate() const { return source_->config().intermediate / shape_.tp_degree; }
  /// Vocabulary entries per rank, rounded up: the last rank may hold fewer.
  std::uint32_t vocab_share() const {
    return (shape_.vocab + shape_.tp_degree - 1) / shape_.tp_degree;
  }

  const std::vector<layer_weights>& layers() const { return layers_; }
  const std::vector<float>& final_norm() const { return final_norm_; }
  const packed_matrix& lm_head() const { return lm_head_; }

  /// Copies one token's embedding: float[hidden].
  void embed(std::int32_t token, float* out) const;

private:
  layer_weights pack_layer(std::uint32_t layer) const;
  std::vector<packed_matrix> pack_quarters(const tensor_view& tensor) const;

  std::shared_ptr<const model> source_;
  geometry shape_;
  std::vector<layer_weights> layers_;
  std::vector<float> final_norm_;
  packed_matrix lm_head_;
};

} // namespace baton::gpu
