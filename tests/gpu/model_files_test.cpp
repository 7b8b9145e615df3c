// Files that are wrong in one way each: the reader names the file, the tensor or field, and why.
#include "tests/gpu/support.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <unistd.h>

using namespace baton::gpu;
using namespace baton::gpu::test;
using baton::protocol::failure;
using baton::protocol::reason;

namespace {

/// A folder that is removed again.
struct scratch_folder {
  std::filesystem::path path;

  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "baton-model-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~scratch_folder() { std::filesystem::remove_all(path); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const auto file = path / name;
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    return file.string();
  }
};

std::string with_length(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes + header + std::string(data_bytes, '\0');
}

failure open_error(const std::string& bytes) {
  const scratch_folder folder;
  const auto path = folder.write("w.safetensors", bytes);
  auto file = safetensors::open(path);
  REQUIRE_FALSE(file.ok());
  CHECK(file.error().text.find("w.safetensors: ") != std::string::npos);
  return file.error();
}

failure config_error(const std::string& json) {
  const scratch_folder folder;
  auto config = read_config(folder.write("config.json", json));
  REQUIRE_FALSE(config.ok());
  CHECK(config.error().text.find("config.json: ") != std::string::npos);
  return config.error();
}

/// A valid config.json with `extra` fields, which must begin with a comma.
std::string config_with(const std::string& extra) {
  return R"({"hidden_size":8,"intermediate_size":12,"num_hidden_layers":1,"num_attention_heads":2,
    "vocab_size":10,"rms_norm_eps":1e-5)"
         + extra + "}";
}

void check_names(const failure& f, reason why, const std::string& part) {
  CAPTURE(f.text);
  CHECK(f.why == why);
  CHECK(f.text.find(part) != std::string::npos);
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets
         + "}}";
}

} // namespace

TEST_CASE("a safetensors file that lies about itself is refused before a tensor is read") {
  check_names(open_error("abc"), reason::bad_input, "at least 8 bytes");
  check_names(open_error(std::string(8, '\xff')), reason::bad_input, "header length");
  check_names(open_error(with_length("{", 0)), reason::bad_input, "JSON object");
  check_names(open_error(with_length("[]", 0)), reason::bad_input, "JSON object");
  const auto bad = [](const std::string& header) { return open_error(with_length(header, 16)); };
  check_names(bad(R"({"t":5})"), reason::bad_input, "tensor t: no dtype");
  check_names(bad(R"({"t":{"dtype":"F32"}})"), reason::bad_input, "tensor t: no shape");
  check_names(bad(R"({"t":{"dtype":"F32","shape":[4]}})"), reason::bad_input, "data_offsets");
  check_names(bad(tensor("I64", "[2]", "[0,16]")), reason::unsupported, "dtype I64");
  check_names(bad(tensor("F32", "[4]", "[0,17]")), reason::bad_input, "leave the file's 16");
  check_names(bad(tensor("F32", "[4]", "[8,4]")), reason::bad_input, "tensor t: data_offsets");
  check_names(bad(tensor("F32", "[4]", "[-4,12]")), reason::bad_input, "not a pair");
  check_names(bad(tensor("F32", "[3]", "[0,16]")), reason::bad_input, "calls for 12 bytes");
  check_names(bad(tensor("F32", "[-4]", "[0,16]")), reason::bad_input, "shape");
  check_names(bad(tensor("F32", "[4294967296,4294967296,4]", "[0,16]")), reason::bad_input,
              "overflows");
  check_names(bad(tensor("F32", "[3]", "[4,16]")), reason::bad_input, "begins at 4");
  check_names(bad(tensor("F32", "[3]", "[0,12]")), reason::bad_input, "end at 12 of 16");
  check_names(safetensors::open("/nonexistent/w.safetensors").error(), reason::bad_input,
              "cannot be opened");
}

TEST_CASE("every dtype widens exactly") {
  const scratch_folder folder;
  const std::string header
    = R"({"__metadata__":{"a":"b"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},
       "h":{"dtype":"F16","shape":[4],"data_offsets":[4,12]}})";
  std::string bytes = with_length(header, 0);
  for (const std::uint16_t v : {0x3f80, 0xc049, 0x3c00, 0x8001, 0x7c00, 0x3555})
    bytes.append(reinterpret_cast<const char*>(&v), 2);
  auto file = safetensors::open(folder.write("w.safetensors", bytes));
  REQUIRE(file.ok());
  const auto& b = file.value()->tensors().at("b");
  CHECK(b.at(0) == 1.0F);
  CHECK(b.at(1) == -3.140625F);
  const auto& h = file.value()->tensors().at("h");
  CHECK(h.at(0) == 1.0F);
  CHECK(h.at(1) == -0x1p-24F);
  CHECK(std::isinf(h.at(2)));
  CHECK(h.at(3) == 0x1.554p-2F);
}

TEST_CASE("config.json: a missing or malformed field is named") {
  check_names(config_error("nonsense"), reason::bad_input, "JSON object");
  check_names(config_error("{}"), reason::bad_input, "hidden_size: is missing");
  check_names(config_error(config_with(R"(,"hidden_size":0)")), reason::bad_input, "hidden_size");
  check_names(config_error(config_with(R"(,"vocab_size":-1)")), reason::bad_input, "vocab_size");
  check_names(config_error(config_with(R"(,"vocab_size":1e30)")), reason::bad_input, "vocab_size");
  check_names(config_error(config_with(R"(,"rms_norm_eps":"x")")), reason::bad_input,
              "rms_norm_eps");
  check_names(config_error(config_with(R"(,"num_key_value_heads":3)")), reason::bad_input,
              "num_key_value_heads: 3 does not divide");
  check_names(config_error(config_with(R"(,"head_dim":3)")), reason::bad_input, "head_dim: 3");
  check_names(config_error(config_with(R"(,"eos_token_id":10)")), reason::bad_input,
              "eos_token_id");
  check_names(config_error(config_with(R"(,"tie_word_embeddings":1)")), reason::bad_input,
              "tie_word_embeddings");
}

TEST_CASE("config.json: what would change the arithmetic unnoticed is refused by name") {
  check_names(config_error(config_with(R"(,"rope_scaling":{"type":"linear","factor":2})")),
              reason::unsupported, "rope_scaling");
  check_names(config_error(config_with(R"(,"attention_bias":true)")), reason::unsupported,
              "attention_bias");
  check_names(config_error(config_with(R"(,"mlp_bias":true)")), reason::unsupported, "mlp_bias");
  check_names(config_error(config_with(R"(,"architectures":["MistralForCausalLM"])")),
              reason::unsupported, "MistralForCausalLM");
  check_names(config_error(config_with(R"(,"model_type":"qwen3")")), reason::unsupported, "qwen3");
  check_names(config_error(config_with(R"(,"hidden_act":"gelu")")), reason::unsupported, "gelu");
  check_names(config_error(config_with(R"(,"quantization_config":{})")), reason::unsupported,
              "quantization_config");
  check_names(config_error(config_with(R"(,"torch_dtype":"float8")")), reason::unsupported,
              "torch_dtype");
}

TEST_CASE("config.json: optional fields have their documented defaults") {
  const scratch_folder folder;
  auto config = read_config(
    folder.write("config.json", config_with(R"(,"eos_token_id":[2,3],"rope_scaling":null)")));
  REQUIRE(config.ok());
  CHECK(config.value().kv_heads == 2);
  CHECK(config.value().head_dim == 4);
  CHECK(config.value().max_positions == 4096);
  CHECK(config.value().rope_theta == 10000.0);
  CHECK_FALSE(config.value().tie_word_embeddings);
  CHECK(config.value().bos == -1);
  CHECK(config.value().eos == std::vector<std::int32_t>{2, 3});
}

TEST_CASE("a folder whose tensors do not fit its configuration is refused") {
  const scratch_folder folder;
  folder.write("config.json", config_with(""));
  check_names(model::load(folder.path.string()).error(), reason::bad_input, "model.safetensors");
  folder.write("model.safetensors", with_length(tensor("F32", "[4]", "[0,16]"), 16));
  check_names(model::load(folder.path.string()).error(), reason::bad_input,
              "tensor model.embed_tokens.weight: is missing");
  folder.write("model.safetensors",
               with_length(R"({"model.embed_tokens.weight":{"dtype":"F32","shape":[8,10],)"
                           R"("data_offsets":[0,320]}})",
                           320));
  check_names(model::load(folder.path.string()).error(), reason::bad_input,
              "shape [8, 10], config.json calls for [10, 8]");
}

TEST_CASE("the digest is of the weights, not of the file, and a changed byte changes it") {
  const auto source = load_if_present(stories_folder);
  if (!source) {
    MESSAGE("stories260K is not at hand");
    return;
  }
  CHECK(source->weights_digest().size() == 32);
  CHECK(source->kv_description()
        == "llama layers=5 heads=8 kv_heads=4 head_dim=8 rope=half_split theta=10000");
  const scratch_folder folder;
  std::filesystem::copy(stories_folder + "/config.json", folder.path / "config.json");
  const auto bytes = read_binary<char>(stories_folder + "/model.safetensors");
  std::string changed(bytes.begin(), bytes.end());
  folder.write("model.safetensors", changed);
  CHECK(model::load(folder.path.string()).value()->weights_digest() == source->weights_digest());
  changed.back() ^= 1;
  folder.write("model.safetensors", changed);
  CHECK(model::load(folder.path.string()).value()->weights_digest() != source->weights_digest());
}
