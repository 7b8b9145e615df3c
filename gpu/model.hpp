// A Hugging Face folder of a Llama-layout model: its config.json, checked, and its weights, mapped.
#pragma once

#include "gpu/safetensors.hpp"
#include "protocol/ids.hpp"
#include "protocol/outcome.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace baton::gpu {

/// config.json, as far as the forward pass needs it.
struct model_config {
  std::uint32_t hidden = 0;        ///< hidden_size
  std::uint32_t intermediate = 0;  ///< intermediate_size
  std::uint32_t layers = 0;        ///< num_hidden_layers
  std::uint32_t heads = 0;         ///< num_attention_heads
  std::uint32_t kv_heads = 0;      ///< num_key_value_heads; default: heads
  std::uint32_t head_dim = 0;      ///< default: hidden_size / num_attention_heads
  std::uint32_t vocab = 0;         ///< vocab_size
  std::uint32_t max_positions = 0; ///< max_position_embeddings; default: 4096
  float rms_norm_eps = 0.0F;
  double rope_theta = 0.0; ///< default: 10000
  bool tie_word_embeddings = false;
  std::int32_t bos = -1;         ///< -1: none
  std::vector<std::int32_t> eos; ///< empty: none; config.json may hold a number or a list
};

/// Reads and checks a config.json. Errors name the file, the field and the reason: bad_input for a
/// malformed field, unsupported for one that is understood but not offered (rope_scaling, biases,
/// other architectures).
protocol::outcome<model_config> read_config(const std::string& path);

/// A loaded model. Immutable; share one between the ranks of a process.
class model {
public:
  /// Loads config.json and model.safetensors (or the files that model.safetensors.index.json names)
  /// from `folder`. Checks the presence, dtype (F32, F16, BF16) and shape of every tensor.
  static protocol::outcome<std::shared_ptr<const model>> load(const std::string& folder);

  const model_config& config() const { return config_; }

  /// XXH3-128 over every tensor's name, dtype, shape and bytes, in the order of the names:
  /// 32 hexadecimal digits.
  const std::string& weights_digest() const { return weights_digest_; }

  /// What decides the meaning of a KV byte beside the weights, for a transfer manifest:
  /// "llama layers=.. heads=.. kv_heads=.. head_dim=.. rope=half_split theta=..".
  std::string kv_description() const;

  /// A tensor by its name in the file, such as "model.norm.weight". The name must exist: load has
  /// checked all those that the configuration calls for.
  const tensor_view& tensor(const std::string& name) const;
  /// The tensor of one layer: (3, "mlp.up_proj") is "model.layers.3.mlp.up_proj.weight".
  const tensor_view& layer_tensor(std::uint32_t layer, const std::string& name) const;
  /// The LM head's weights, float[vocab][hidden]: the embedding's when they are tied.
  const tensor_view& lm_head() const;

private:
  model() = default;

  model_config config_;
  std::string weights_digest_;
  std::vector<std::unique_ptr<const safetensors>> files_;
  std::map<std::string, const tensor_view*> tensors_;
};

/// The tensors that a configuration calls for, with their shapes.
std::vector<std::pair<std::string, std::vector<std::uint64_t>>>
required_tensors(const model_config& config);

} // namespace baton::gpu
