#include "gpu/tokenizer_json.hpp"

namespace baton::gpu {

namespace {

std::vector<added_token> read_added(const json_field& list, std::uint32_t vocab_size) {
  std::vector<added_token> tokens;
  if (list.is_null())
    return tokens;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto entry = list[i];
    added_token token;
    token.id = entry["id"].id(vocab_size);
    token.content = entry["content"].text();
    if (token.content.empty())
      entry["content"].malformed("empty");
    token.special = entry["special"].flag_or(false);
    token.single_word = entry["single_word"].flag_or(false);
    token.lstrip = entry["lstrip"].flag_or(false);
    token.rstrip = entry["rstrip"].flag_or(false);
    token.normalized = entry["normalized"].flag_or(!token.special);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

void read_normalizer(const json_field& field, std::vector<normalizer_step>& steps) {
  if (field.is_null())
    return;
  const auto type = field["type"].text();
  if (type == "Sequence") {
    const auto list = field["normalizers"];
    for (std::size_t i = 0; i < list.size(); ++i)
      read_normalizer(list[i], steps);
  } else if (type == "NFC") {
    steps.emplace_back(normalize_nfc{});
  } else if (type == "Prepend") {
    steps.emplace_back(normalize_prepend{field["prepend"].text()});
  } else if (type == "Replace") {
    const auto pattern = field["pattern"];
    if (!pattern.has("String"))
      pattern.unsupported("only a String pattern is offered");
    if (pattern["String"].text().empty())
      pattern["String"].malformed("empty");
    steps.emplace_back(normalize_replace{pattern["String"].text(), field["content"].text()});
  } else {
    field.unsupported("normalizer " + type + " is not offered");
  }
}

/// Token names of a template, before and behind the sequence.
void read_template(const json_field& field, std::uint32_t vocab_size, tokenizer_parts& parts) {
  const auto single = field["single"];
  bool behind = false;
  for (std::size_t i = 0; i < single.size(); ++i) {
    const auto entry = single[i];
    if (entry.has("Sequence")) {
      if (behind || entry["Sequence"]["id"].text() != "A")
        entry.malformed("a single template holds sequence A once");
      behind = true;
      continue;
    }
    const auto name = entry["SpecialToken"]["id"].text();
    const auto ids = field["special_tokens"][name]["ids"];
    for (std::size_t k = 0; k < ids.size(); ++k)
      (behind ? parts.behind : parts.before).push_back(ids[k].id(vocab_size));
  }
  if (!behind)
    single.malformed("no Sequence");
}

void read_post_processor(const json_field& field, std::uint32_t vocab_size,
                         tokenizer_parts& parts) {
  if (field.is_null())
    return;
  const auto type = field["type"].text();
  if (type == "Sequence") {
    const auto list = field["processors"];
    for (std::size_t i = 0; i < list.size(); ++i)
      read_post_processor(list[i], vocab_size, parts);
  } else if (type == "TemplateProcessing") {
    if (!parts.before.empty() || !parts.behind.empty())
      field.unsupported("a second template is not offered");
    read_template(field, vocab_size, parts);
  } else if (type != "ByteLevel") { // which moves offsets, and no ids
    field.unsupported("post-processor " + type + " is not offered");
  }
}

std::pair<std::string, std::string> read_merge(const json_field& entry) {
  if (entry.is_list()) {
    if (entry.size() != 2)
      entry.malformed("not a pair");
    return {entry[std::size_t{0}].text(), entry[std::size_t{1}].text()};
  }
  const auto& text = entry.text();
  const auto space = text.find(' ');
  if (space == text.npos || text.find(' ', space + 1) != text.npos)
    entry.malformed("not two tokens with one space between them");
  return {text.substr(0, space), text.substr(space + 1)};
}

void refuse_affix(const json_field& field) {
  if (!field.is_null() && !field.text().empty())
    field.unsupported("only an empty affix is offered");
}

bpe read_model(const json_field& model, std::uint32_t vocab_size, bpe_alphabet alphabet) {
  // Files of early versions name no type; only BPE has merges.
  const auto type = model["type"].is_null() && model.has("merges") ? "BPE" : model["type"].text();
  if (type != "BPE")
    model.unsupported("model " + type + " is not offered");
  if (!model["dropout"].is_null())
    model["dropout"].unsupported("dropout is for training");
  refuse_affix(model["continuing_subword_prefix"]);
  refuse_affix(model["end_of_word_suffix"]);

  bpe_vocabulary vocabulary;
  const auto vocab = model["vocab"];
  vocabulary.reserve(vocab.members().size());
  for (const auto& entry : vocab.members().items())
    vocabulary.emplace(entry.key(), vocab[entry.key()].id(vocab_size));

  bpe_settings settings;
  settings.alphabet = alphabet;
  settings.byte_fallback = model["byte_fallback"].flag_or(false);
  settings.ignore_merges = model["ignore_merges"].flag_or(false);
  settings.fuse_unknown = model["fuse_unk"].flag_or(false);
  if (const auto unknown = model["unk_token"]; !unknown.is_null()) {
    const auto found = vocabulary.find(unknown.text());
    if (found == vocabulary.end())
      unknown.malformed("not in the vocabulary");
    settings.unknown = found->second;
  }
  std::vector<std::pair<std::string, std::string>> merges;
  const auto list = model["merges"];
  merges.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    merges.push_back(read_merge(list[i]));
  auto built = bpe::build(std::move(vocabulary), merges, settings);
  if (!built)
    model.malformed(built.error().text);
  return std::move(built.value());
}

} // namespace

tokenizer_parts read_tokenizer_parts(const json_field& document, std::uint32_t vocab_size) {
  for (const char* name : {"truncation", "padding"})
    if (!document[name].is_null())
      document[name].unsupported("only null is offered: a prompt is never cut or filled up");
  tokenizer_parts parts;
  parts.added = read_added(document["added_tokens"], vocab_size);
  read_normalizer(document["normalizer"], parts.normalizer);
  read_pre_tokenizer(document["pre_tokenizer"], parts);
  parts.model = read_model(document["model"], vocab_size, parts.alphabet);
  read_post_processor(document["post_processor"], vocab_size, parts);
  read_decoder(document["decoder"], parts);
  return parts;
}

} // namespace baton::gpu
