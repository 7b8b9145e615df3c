#include "gpu/model.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::outcome;
using protocol::reason;
using json = nlohmann::json;

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

/// The files that hold the weights: one, or those that the index names.
outcome<std::vector<std::string>> weight_files(const std::string& folder) {
  const std::string single = folder + "/model.safetensors";
  if (std::error_code error; std::filesystem::exists(single, error))
    return std::vector<std::string>{single};
  const std::string path = single + ".index.json";
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return failure{reason::bad_input,
                   single + ": cannot be opened, and there is no model.safetensors.index.json"};
  std::ostringstream text;
  text << file.rdbuf();
  const json index = json::parse(text.str(), nullptr, false);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    return failure{reason::bad_input, path + ": weight_map: is missing"};
  std::set<std::string> names;
  for (const auto& [tensor, name] : index["weight_map"].items()) {
    // A name with a separator could point outside the folder.
    if (!name.is_string() || name.get<std::string>().find('/') != std::string::npos)
      return failure{reason::bad_input, path + ": weight_map: " + tensor + ": not a file name"};
    names.insert(folder + "/" + name.get<std::string>());
  }
  return std::vector<std::string>(names.begin(), names.end());
}

std::string digest(const std::map<std::string, const tensor_view*>& tensors) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_128bits_reset(state.get());
  for (const auto& [name, view] : tensors) {
    const std::string label
      = name + " " + to_string(view->dtype) + " " + shape_text(view->shape) + "\n";
    XXH3_128bits_update(state.get(), label.data(), label.size());
    XXH3_128bits_update(state.get(), view->data, view->bytes);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return protocol::to_hex(hash.high64, hash.low64);
}

} // namespace

std::vector<std::pair<std::string, std::vector<std::uint64_t>>>
required_tensors(const model_config& c) {
  const std::uint64_t queries = std::uint64_t{c.heads} * c.head_dim;
  const std::uint64_t keys = std::uint64_t{c.kv_heads} * c.head_dim;
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> list;
  list.push_back({"model.embed_tokens.weight", {c.vocab, c.hidden}});
  list.push_back({"model.norm.weight", {c.hidden}});
  if (!c.tie_word_embeddings)
    list.push_back({"lm_head.weight", {c.vocab, c.hidden}});
  for (std::uint32_t layer = 0; layer < c.layers; ++layer) {
    const std::string at = "model.layers." + std::to_string(layer) + ".";
    list.push_back({at + "input_layernorm.weight", {c.hidden}});
    list.push_back({at + "self_attn.q_proj.weight", {queries, c.hidden}});
    list.push_back({at + "self_attn.k_proj.weight", {keys, c.hidden}});
    list.push_back({at + "self_attn.v_proj.weight", {keys, c.hidden}});
    list.push_back({at + "self_attn.o_proj.weight", {c.hidden, queries}});
    list.push_back({at + "post_attention_layernorm.weight", {c.hidden}});
    list.push_back({at + "mlp.gate_proj.weight", {c.intermediate, c.hidden}});
    list.push_back({at + "mlp.up_proj.weight", {c.intermediate, c.hidden}});
    list.push_back({at + "mlp.down_proj.weight", {c.hidden, c.intermediate}});
  }
  return list;
}

outcome<std::shared_ptr<const model>> model::load(const std::string& folder) {
  const std::string config_path = folder + "/config.json";
  auto config = read_config(config_path);
  if (!config)
    return config.error();
  auto paths = weight_files(folder);
  if (!paths)
    return paths.error();
  std::shared_ptr<model> loaded(new model);
  loaded->config_ = config.value();
  for (const auto& path : paths.value()) {
    auto file = safetensors::open(path);
    if (!file)
      return file.error();
    for (const auto& [name, view] : file.value()->tensors())
      if (!loaded->tensors_.emplace(name, &view).second)
        return failure{reason::bad_input, path + ": tensor " + name + ": is in another file too"};
    loaded->files_.push_back(std::move(file.value()));
  }
  for (const auto& [name, shape] : required_tensors(loaded->config_)) {
    const std::string where = folder + ": tensor " + name + ": ";
    const auto found = loaded->tensors_.find(name);
    if (found == loaded->tensors_.end())
      return failure{reason::bad_input, where + "is missing"};
    if (found->second->shape != shape)
      return failure{reason::bad_input, where + "shape " + shape_text(found->second->shape)
                                          + ", config.json calls for " + shape_text(shape)};
  }
  loaded->weights_digest_ = digest(loaded->tensors_);
  return std::shared_ptr<const model>(std::move(loaded));
}

std::string model::kv_description() const {
  std::ostringstream text;
  text.precision(17);
  text << "llama layers=" << config_.layers << " heads=" << config_.heads
       << " kv_heads=" << config_.kv_heads << " head_dim=" << config_.head_dim
       << " rope=half_split theta=" << config_.rope_theta;
  return text.str();
}

const tensor_view& model::tensor(const std::string& name) const { return *tensors_.at(name); }

const tensor_view& model::layer_tensor(std::uint32_t layer, const std::string& name) const {
  return tensor("model.layers." + std::to_string(layer) + "." + name + ".weight");
}

const tensor_view& model::lm_head() const {
  return tensor(config_.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight");
}

} // namespace baton::gpu
