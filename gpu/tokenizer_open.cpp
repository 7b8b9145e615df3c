// Which tokenizer a model folder calls for.
#include "gpu/tokenizer.hpp"
#include "gpu/tokenizer_json.hpp"
#include "protocol/ids.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::outcome;
using protocol::reason;

constexpr std::uint32_t byte_vocab_size = 256;

std::string digest_of(const std::string& content) {
  const auto hash = XXH3_128bits(content.data(), content.size());
  return protocol::to_hex(hash.high64, hash.low64);
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  std::ostringstream content;
  content << file.rdbuf();
  return std::move(content).str();
}

class byte_tokenizer final : public tokenizer {
public:
  explicit byte_tokenizer(std::vector<std::int32_t> eos)
    : tokenizer(every_byte(), std::move(eos), digest_of("token = byte")) {}

  outcome<std::vector<std::int32_t>> encode(const std::string& text) const override {
    std::vector<std::int32_t> ids;
    ids.reserve(text.size());
    for (const char c : text)
      ids.push_back(static_cast<std::uint8_t>(c));
    return ids;
  }

private:
  static token_pieces every_byte() {
    token_pieces pieces;
    for (std::uint32_t byte = 0; byte < byte_vocab_size; ++byte)
      pieces.bytes.emplace_back(1, static_cast<char>(byte));
    return pieces;
  }
};

/// A number or a list of them; nothing where it is missing or null.
void append_ids(const json_field& field, std::uint32_t vocab_size, std::vector<std::int32_t>& ids) {
  if (field.is_null())
    return;
  if (!field.is_list()) {
    ids.push_back(field.id(vocab_size));
    return;
  }
  for (std::size_t i = 0; i < field.size(); ++i)
    ids.push_back(field[i].id(vocab_size));
}

/// The token that tokenizer_config.json names, as text or as an object with a content.
void append_named(const json_field& field, const tokenizer_parts& parts,
                  std::vector<std::int32_t>& ids) {
  if (field.is_null())
    return;
  const auto name = field.is_text() ? field.text() : field["content"].text();
  for (const auto& token : parts.added)
    if (token.content == name) {
      ids.push_back(token.id);
      return;
    }
  const auto found = parts.model->vocabulary().find(name);
  if (found == parts.model->vocabulary().end())
    field.malformed("the token is not in tokenizer.json");
  ids.push_back(found->second);
}

/// Calls `read` with a JSON file's top, if the file is there.
template <class Read>
void with_file(const std::string& path, Read&& read) {
  const auto content = read_file(path);
  if (!content)
    return;
  const auto document = parse_json_file(path, *content);
  read(json_field(document, path + ": "));
}

/// End-of-answer ids as the folder's files give them. `parts` may be null.
std::vector<std::int32_t> read_eos(const std::string& folder, std::uint32_t vocab_size,
                                   const tokenizer_parts* parts) {
  std::vector<std::int32_t> ids;
  for (const char* name : {"/config.json", "/generation_config.json"})
    with_file(folder + name,
              [&](const json_field& top) { append_ids(top["eos_token_id"], vocab_size, ids); });
  if (parts)
    with_file(folder + "/tokenizer_config.json",
              [&](const json_field& top) { append_named(top["eos_token"], *parts, ids); });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::shared_ptr<const tokenizer> open_or_throw(const std::string& folder,
                                               std::uint32_t vocab_size) {
  const auto path = folder + "/tokenizer.json";
  const auto content = read_file(path);
  if (!content && vocab_size == byte_vocab_size)
    return std::make_shared<byte_tokenizer>(read_eos(folder, vocab_size, nullptr));
  if (!content)
    throw failure{reason::not_found, path + ": cannot be read, and a vocab_size of "
                                       + std::to_string(vocab_size) + " is not bytes"};
  const auto document = parse_json_file(path, *content);
  auto parts = read_tokenizer_parts(json_field(document, path + ": "), vocab_size);
  auto eos = read_eos(folder, vocab_size, &parts);
  return make_tokenizer(std::move(parts), std::move(eos), digest_of(*content));
}

} // namespace

outcome<std::shared_ptr<const tokenizer>> open_tokenizer(const std::string& folder,
                                                         std::uint32_t vocab_size) {
  try {
    return open_or_throw(folder, vocab_size);
  } catch (const failure& refused) {
    return refused;
  }
}

} // namespace baton::gpu
