#include "gpu/bpe.hpp"
#include "gpu/tokenizer.hpp"
#include "gpu/tokenizer_words.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace baton;
using json = nlohmann::json;
using ids = std::vector<std::int32_t>;

namespace {

constexpr std::uint32_t vocab_size = 1000;

/// A model folder that lives as long as the test.
class model_folder {
public:
  model_folder() : path_((std::filesystem::temp_directory_path() / "baton_XXXXXX").string()) {
    REQUIRE(mkdtemp(path_.data()));
  }
  ~model_folder() { std::filesystem::remove_all(path_); }
  model_folder(const model_folder&) = delete;
  model_folder& operator=(const model_folder&) = delete;

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name) << content;
  }
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

std::shared_ptr<const gpu::tokenizer> open(const json& document) {
  model_folder folder;
  folder.write("tokenizer.json", document.dump());
  const auto opened = gpu::open_tokenizer(folder.path(), vocab_size);
  REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error().text));
  return opened.value();
}

protocol::failure refusal(const json& document) {
  model_folder folder;
  folder.write("tokenizer.json", document.dump());
  const auto opened = gpu::open_tokenizer(folder.path(), vocab_size);
  return opened ? protocol::failure{} : opened.error();
}

ids encode(const gpu::tokenizer& tokens, const std::string& text) {
  const auto encoded = tokens.encode(text);
  REQUIRE(encoded.ok());
  return encoded.value();
}

json added(int id, const std::string& content, const json& flags = json::object()) {
  json token = {{"id", id},          {"content", content}, {"single_word", false},
                {"lstrip", false},   {"rstrip", false},    {"normalized", false},
                {"special", false}};
  token.update(flags);
  return token;
}

/// The 256 bytes as ids 0 to 255, then the results of `merges` from 256 on.
json byte_level(const std::vector<std::pair<std::string, std::string>>& merges) {
  json vocab;
  for (int b = 0; b < 256; ++b)
    vocab[gpu::byte_symbol(static_cast<std::uint8_t>(b))] = b;
  int next = 256;
  auto list = json::array();
  for (const auto& [left, right] : merges) {
    vocab[left + right] = next++;
    list.push_back({left, right});
  }
  return {{"added_tokens", json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", list}}}};
}

/// <unk> 0, <s> 1, </s> 2, the bytes from 3 on, then ▁ 259, a 260, b 261, ▁a 262, ▁ab 263.
json sentence_piece() {
  json vocab = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  for (int b = 0; b < 256; ++b)
    vocab[gpu::fallback_symbol(static_cast<std::uint8_t>(b))] = 3 + b;
  vocab.update({{"▁", 259}, {"a", 260}, {"b", 261}, {"▁a", 262}, {"▁ab", 263}});
  const json space_out = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  const json space_in = {{"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}};
  const json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  const json bos = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  return {
    {"added_tokens", {added(1, "<s>", {{"special", true}}), added(2, "</s>", {{"special", true}})}},
    {"normalizer",
     {{"type", "Sequence"},
      {"normalizers", {{{"type", "Prepend"}, {"prepend", "▁"}}, space_out}}}},
    {"pre_tokenizer", nullptr},
    {"post_processor",
     {{"type", "TemplateProcessing"},
      {"single", {bos, text}},
      {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {1}}}}}}}},
    {"decoder",
     {{"type", "Sequence"},
      {"decoders", {space_in, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, strip}}}},
    {"model",
     {{"type", "BPE"},
      {"unk_token", "<unk>"},
      {"fuse_unk", true},
      {"byte_fallback", true},
      {"vocab", vocab},
      {"merges", {"▁ a", "▁a b"}}}}};
}

} // namespace

TEST_CASE("a folder without tokenizer.json and 256 tokens speaks bytes") {
  model_folder folder;
  const auto opened = gpu::open_tokenizer(folder.path(), 256);
  REQUIRE(opened.ok());
  CHECK(encode(*opened.value(), "a\xFF") == ids{97, 255});
  CHECK(opened.value()->decode({104, 195, 169}) == "hé");
  CHECK(opened.value()->eos().empty());
  CHECK(opened.value()->digest().size() == 32);

  const auto refused = gpu::open_tokenizer(folder.path(), 257);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().why == protocol::reason::not_found);
}

TEST_CASE("a character that spans tokens is streamed when it is whole, not before") {
  model_folder folder;
  const auto bytes = gpu::open_tokenizer(folder.path(), 256).value();
  auto stream = bytes->stream();
  CHECK(stream.push('x') == "x");
  CHECK(stream.push(0xF0) == "");
  CHECK(stream.push(0x9F) == "");
  CHECK(stream.push(0x98) == "");
  CHECK(stream.push(0x80) == "😀");
  CHECK(stream.push(999) == "");
  CHECK(stream.flush() == "");
}

TEST_CASE("broken bytes become one replacement character for each maximal sequence") {
  model_folder folder;
  const auto bytes = gpu::open_tokenizer(folder.path(), 256).value();
  auto stream = bytes->stream();
  CHECK(stream.push(0xE2) == "");
  CHECK(stream.push(0x82) == "");
  CHECK(stream.push('a') == "\uFFFDa");
  CHECK(stream.push(0x80) == "\uFFFD");
  CHECK(bytes->decode({0xED, 0xA0, 0x80}) == "\uFFFD\uFFFD\uFFFD"); // a surrogate
  CHECK(bytes->decode({0xC0, 0xAF}) == "\uFFFD\uFFFD");             // overlong
  CHECK(bytes->decode({'a', 0xF0, 0x9F}) == "a\uFFFD");
}

TEST_CASE("merges are taken by rank, and never across words") {
  const auto tokens = open(byte_level({{"l", "l"}, {"h", "e"}, {"he", "ll"}, {"o", "Ġ"}}));
  CHECK(encode(*tokens, "hello") == ids{258, 'o'});
  CHECK(encode(*tokens, "lll") == ids{256, 'l'});
  CHECK(encode(*tokens, "o o") == ids{'o', ' ', 'o'}); // the space belongs to the next word
  CHECK(tokens->decode({258, 'o', ' ', 257}) == "hello he");
}

TEST_CASE("ignore_merges takes a word of the vocabulary whole") {
  auto document = byte_level({{"a", "b"}, {"b", "c"}, {"ab", "c"}});
  document["model"]["vocab"]["xyz"] = 300;
  CHECK(encode(*open(document), "xyz") == ids{'x', 'y', 'z'});
  document["model"]["ignore_merges"] = true;
  CHECK(encode(*open(document), "xyz") == ids{300});
}

TEST_CASE("white space is Unicode's: U+180E is none, U+3000 is") {
  gpu::word_splitter words;
  REQUIRE_FALSE(words.add(R"([^\s]+)", gpu::split_keeps::matches));
  const std::string text = "a\u180Eb\u3000c";
  CHECK(words.split(text).value() == std::vector<std::string_view>{"a\u180Eb", "c"});
  CHECK(gpu::with_unicode_spaces(R"(\\s\S)") == R"(\\s\P{White_Space})");
}

TEST_CASE("splits apply one after the other, and quoted text matches itself") {
  gpu::word_splitter words;
  REQUIRE_FALSE(words.add(gpu::quoted_pattern("(.)"), gpu::split_keeps::everything));
  REQUIRE_FALSE(words.add(R"(\p{N})", gpu::split_keeps::everything));
  CHECK(words.split("a12(.)b").value()
        == std::vector<std::string_view>{"a", "1", "2", "(.)", "b"});
}

TEST_CASE("NFC joins what is typed apart") {
  auto document = byte_level({{"Ã", "©"}});
  document["normalizer"] = {{"type", "NFC"}};
  const auto tokens = open(document);
  CHECK(encode(*tokens, "\u00E9") == ids{256});
  CHECK(encode(*tokens, "e\u0301") == ids{256});
}

TEST_CASE("added tokens obey their flags") {
  auto document = byte_level({});
  document["added_tokens"] = {added(300, "<a>"), added(301, "<a>b"),
                              added(302, "<l>", {{"lstrip", true}}),
                              added(303, "<r>", {{"rstrip", true}}),
                              added(304, "<w>", {{"single_word", true}}),
                              added(305, "<x>", {{"special", true}})};
  const auto tokens = open(document);
  CHECK(encode(*tokens, "<a><a>bc") == ids{300, 301, 'c'});
  CHECK(encode(*tokens, "x \u3000<l> y") == ids{'x', 302, ' ', 'y'});
  CHECK(encode(*tokens, "x <r> \n") == ids{'x', ' ', 303});
  CHECK(encode(*tokens, "<w>-é<w>") == ids{304, '-', 0xC3, 0xA9, '<', 'w', '>'});
  CHECK(tokens->decode({300, 305, 'c'}) == "<a>c");
}

TEST_CASE("SentencePiece: a space before the text, bytes for the unknown, BOS from the template") {
  const auto tokens = open(sentence_piece());
  CHECK(encode(*tokens, "ab a") == ids{1, 263, 262});
  CHECK(encode(*tokens, "é") == ids{1, 259, 3 + 0xC3, 3 + 0xA9});
  CHECK(encode(*tokens, "a</s>b") == ids{1, 262, 2, 259, 261});
  CHECK(encode(*tokens, "") == ids{1});
  CHECK(tokens->decode({1, 263, 262, 259, 3 + 0xC3, 3 + 0xA9, 2}) == "ab a é");

  auto continued = tokens->stream();
  CHECK(continued.push(1) + continued.push(263) == "ab");
  CHECK(continued.push(262) == " a"); // only the first space of the text is dropped
}

TEST_CASE("SentencePiece without byte fallback fuses unknown characters, if told to") {
  auto document = sentence_piece();
  document["model"]["byte_fallback"] = false;
  CHECK(encode(*open(document), "xya") == ids{1, 259, 0, 260});
  document["model"]["fuse_unk"] = false;
  CHECK(encode(*open(document), "xya") == ids{1, 259, 0, 0, 260});
}

TEST_CASE("a prompt that is not UTF-8 is refused with the place") {
  const auto refused = open(byte_level({}))->encode("ab\xFF");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().why == protocol::reason::bad_input);
  CHECK(refused.error().text == "prompt: byte 2 is not UTF-8");
}

TEST_CASE("what is not offered is refused by file, field and name") {
  const struct {
    const char* at;
    json value;
    protocol::reason why;
    const char* text;
  } cases[] = {
    {"/normalizer", {{"type", "Lowercase"}}, protocol::reason::unsupported,
     "tokenizer.json: normalizer: normalizer Lowercase is not offered"},
    {"/pre_tokenizer", {{"type", "Metaspace"}}, protocol::reason::unsupported,
     "tokenizer.json: pre_tokenizer: pre-tokenizer Metaspace is not offered"},
    {"/pre_tokenizer",
     {{"type", "Split"}, {"pattern", {{"Regex", "("}}}, {"behavior", "Isolated"}},
     protocol::reason::unsupported, "tokenizer.json: pre_tokenizer.pattern: regular expression ("},
    {"/post_processor", {{"type", "BertProcessing"}}, protocol::reason::unsupported,
     "tokenizer.json: post_processor: post-processor BertProcessing is not offered"},
    {"/decoder", {{"type", "WordPiece"}}, protocol::reason::unsupported,
     "tokenizer.json: decoder: decoder WordPiece is not offered"},
    {"/decoder", nullptr, protocol::reason::unsupported, "tokenizer.json: decoder: null"},
    {"/model/type", "Unigram", protocol::reason::unsupported,
     "tokenizer.json: model: model Unigram is not offered"},
    {"/model/dropout", 0.1, protocol::reason::unsupported, "tokenizer.json: model.dropout: "},
    {"/truncation", {{"max_length", 8}}, protocol::reason::unsupported,
     "tokenizer.json: truncation: "},
    {"/model/vocab/!", 1000, protocol::reason::bad_input,
     "tokenizer.json: model.vocab.!: not a token id below the model's vocab_size 1000"},
    {"/model/merges/0", {"q", "q"}, protocol::reason::bad_input, "model.merges[0]: "},
    {"/model/merges/0", "a b c", protocol::reason::bad_input, "tokenizer.json: model.merges[0]: "},
    {"/added_tokens", {{{"id", 1}}}, protocol::reason::bad_input,
     "tokenizer.json: added_tokens[0].content: not a string"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.text);
    auto document = byte_level({{"a", "b"}});
    document[json::json_pointer(each.at)] = each.value;
    const auto refused = refusal(document);
    CHECK(refused.why == each.why);
    CHECK_MESSAGE(refused.text.find(each.text) != std::string::npos, refused.text);
  }
}

TEST_CASE("end-of-answer ids come from all files that name them") {
  model_folder folder;
  folder.write("tokenizer.json", sentence_piece().dump());
  folder.write("config.json", R"({"eos_token_id": [261, 7]})");
  folder.write("generation_config.json", R"({"eos_token_id": 7})");
  folder.write("tokenizer_config.json", R"({"eos_token": {"content": "</s>"}})");
  CHECK(gpu::open_tokenizer(folder.path(), vocab_size).value()->eos() == ids{2, 7, 261});

  folder.write("tokenizer_config.json", R"({"eos_token": "</end>"})");
  const auto refused = gpu::open_tokenizer(folder.path(), vocab_size);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().text
        == folder.path() + "/tokenizer_config.json: eos_token: the token is not in tokenizer.json");
}

TEST_CASE("a trained tokenizer gives the reference's ids and the text back") {
  const std::string shared = BATON_SHARED_DATA;
  const auto opened = gpu::open_tokenizer(shared + "/models/stories260K/hf", 512);
  if (!opened) {
    MESSAGE("skipped: " << opened.error().text);
    return;
  }
  const auto& tokens = *opened.value();
  // From the reference implementation (tokenizers 0.23.3).
  CHECK(encode(tokens, "Once upon a time, there was a café 😀.")
        == ids{1,   403, 407, 261, 378, 432, 383, 286, 261, 280,
               412, 431, 485, 410, 243, 162, 155, 131, 426});
  std::ifstream file(shared + "/corpora/kjv_plain.txt");
  std::ostringstream corpus;
  corpus << file.rdbuf();
  const auto text = corpus.str().substr(0, 200'000);
  REQUIRE_FALSE(text.empty());
  CHECK(tokens.decode(encode(tokens, text)) == text);
}
