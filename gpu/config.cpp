// config.json: every field that changes the forward pass is either understood or refused by name.
#include "gpu/model.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::outcome;
using protocol::reason;
using json = nlohmann::json;

constexpr std::uint64_t size_max = 1U << 24; // keeps every product of two sizes within 64 bits

/// Reads fields one by one and keeps the first failure, so that callers check once.
class field_reader {
public:
  field_reader(const std::string& path, const json& object) : path_(path), object_(object) {}

  const failure& error() const { return error_; }

  void refuse(reason why, const std::string& name, const std::string& what) {
    if (!error_)
      error_ = failure{why, path_ + ": " + name + ": " + what};
  }

  bool present(const char* name) const {
    return object_.contains(name) && !object_[name].is_null();
  }

  /// A size in [1, 2^24]; `fallback` 0 means that the field is required.
  std::uint32_t size(const char* name, std::uint32_t fallback = 0) {
    if (!present(name)) {
      if (fallback == 0)
        refuse(reason::bad_input, name, "is missing");
      return fallback;
    }
    const auto& value = object_[name];
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0
        || value.get<std::uint64_t>() > size_max) {
      refuse(reason::bad_input, name, "is not a whole number from 1 to 16777216");
      return 1;
    }
    return value.get<std::uint32_t>();
  }

  double positive(const char* name, double fallback) {
    if (!present(name)) {
      if (fallback == 0.0)
        refuse(reason::bad_input, name, "is missing");
      return fallback;
    }
    const auto& value = object_[name];
    if (!value.is_number() || !(value.get<double>() > 0.0) || !std::isfinite(value.get<double>())) {
      refuse(reason::bad_input, name, "is not a positive number");
      return 1.0;
    }
    return value.get<double>();
  }

  bool flag(const char* name) {
    if (!present(name))
      return false;
    if (!object_[name].is_boolean())
      refuse(reason::bad_input, name, "is not true or false");
    return object_[name].is_boolean() && object_[name].get<bool>();
  }

  /// A token id or a list of them.
  std::vector<std::int32_t> token_ids(const char* name, std::uint32_t vocab) {
    std::vector<std::int32_t> ids;
    if (!present(name))
      return ids;
    const json list = object_[name].is_array() ? object_[name] : json::array({object_[name]});
    for (const auto& id : list) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= vocab) {
        refuse(reason::bad_input, name, "is not a token id below vocab_size");
        return {};
      }
      ids.push_back(id.get<std::int32_t>());
    }
    return ids;
  }

  /// Refuses any value but `only`, when the field is there.
  void expect(const char* name, const char* only) {
    if (present(name) && object_[name] != only)
      refuse(reason::unsupported, name, object_[name].dump() + " (only \"" + only + "\" is)");
  }

private:
  const std::string& path_;
  const json& object_;
  failure error_;
};

void refuse_unsupported(field_reader& in, const json& object) {
  in.expect("model_type", "llama");
  in.expect("hidden_act", "silu");
  if (in.present("architectures") && object["architectures"] != json::array({"LlamaForCausalLM"}))
    in.refuse(reason::unsupported, "architectures",
              object["architectures"].dump() + " (only LlamaForCausalLM is)");
  if (in.present("rope_scaling"))
    in.refuse(reason::unsupported, "rope_scaling", "scaled RoPE is not offered");
  if (in.present("rope_parameters"))
    in.refuse(reason::unsupported, "rope_parameters", "only the field rope_theta is read");
  if (in.present("partial_rotary_factor"))
    in.refuse(reason::unsupported, "partial_rotary_factor", "partial RoPE is not offered");
  if (in.present("quantization_config"))
    in.refuse(reason::unsupported, "quantization_config", "quantized weights are not offered");
  if (in.flag("attention_bias"))
    in.refuse(reason::unsupported, "attention_bias", "projections with a bias are not offered");
  if (in.flag("mlp_bias"))
    in.refuse(reason::unsupported, "mlp_bias", "projections with a bias are not offered");
  if (in.present("sliding_window"))
    in.refuse(reason::unsupported, "sliding_window", "windowed attention is not offered");
  if (in.present("torch_dtype")) {
    const auto& dtype = object["torch_dtype"];
    if (dtype != "float32" && dtype != "float16" && dtype != "bfloat16")
      in.refuse(reason::unsupported, "torch_dtype",
                dtype.dump() + " (float32, float16 and bfloat16 are)");
  }
}

void check_heads(field_reader& in, const model_config& c, const json& object) {
  if (c.heads % c.kv_heads != 0)
    in.refuse(reason::bad_input, "num_key_value_heads",
              std::to_string(c.kv_heads) + " does not divide num_attention_heads "
                + std::to_string(c.heads));
  if (!object.contains("head_dim") && c.hidden % c.heads != 0)
    in.refuse(reason::bad_input, "num_attention_heads",
              std::to_string(c.heads) + " does not divide hidden_size " + std::to_string(c.hidden)
                + " and head_dim is missing");
  if (c.head_dim % 2 != 0)
    in.refuse(reason::bad_input, "head_dim",
              std::to_string(c.head_dim) + " is odd: rotary embedding turns pairs");
}

} // namespace

outcome<model_config> read_config(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return failure{reason::bad_input, path + ": cannot be opened"};
  std::ostringstream text;
  text << file.rdbuf();
  const json object = json::parse(text.str(), nullptr, false);
  if (!object.is_object())
    return failure{reason::bad_input, path + ": is not a JSON object"};

  field_reader in(path, object);
  refuse_unsupported(in, object);
  model_config c;
  c.hidden = in.size("hidden_size");
  c.intermediate = in.size("intermediate_size");
  c.layers = in.size("num_hidden_layers");
  c.heads = in.size("num_attention_heads");
  if (in.error())
    return in.error();
  c.kv_heads = in.size("num_key_value_heads", c.heads);
  c.head_dim = in.size("head_dim", std::max(1U, c.hidden / c.heads));
  c.vocab = in.size("vocab_size");
  c.max_positions = in.size("max_position_embeddings", 4096);
  c.rms_norm_eps = static_cast<float>(in.positive("rms_norm_eps", 0.0));
  c.rope_theta = in.positive("rope_theta", 10000.0);
  c.tie_word_embeddings = in.flag("tie_word_embeddings");
  if (in.error())
    return in.error();
  const auto bos = in.token_ids("bos_token_id", c.vocab);
  c.bos = bos.empty() ? -1 : bos.front();
  c.eos = in.token_ids("eos_token_id", c.vocab);
  check_heads(in, c, object);
  if (in.error())
    return in.error();
  return c;
}

} // namespace baton::gpu
