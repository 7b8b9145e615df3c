#include "gpu/tokenizer.hpp"

#include "gpu/tokenizer_utf8.hpp"

namespace baton::gpu {

namespace {

constexpr const char* replacement_character = "\xEF\xBF\xBD"; // U+FFFD

} // namespace

text_stream::text_stream(std::shared_ptr<const token_pieces> pieces)
  : pieces_(std::move(pieces)), strips_left_(pieces_->strip_max) {}

std::string text_stream::push(std::int32_t token) {
  const auto& bytes = pieces_->bytes;
  if (token < 0 || static_cast<std::size_t>(token) >= bytes.size())
    return {};
  held_ += bytes[static_cast<std::size_t>(token)];
  while (strips_left_ > 0 && !held_.empty()) {
    const auto& strip = pieces_->strip;
    if (held_.compare(0, strip.size(), strip) != 0) {
      strips_left_ = 0;
      break;
    }
    held_.erase(0, strip.size());
    --strips_left_;
  }
  return take_whole_characters();
}

std::string text_stream::take_whole_characters() {
  std::string text;
  std::size_t at = 0;
  while (at < held_.size()) {
    const std::string_view rest = std::string_view(held_).substr(at);
    const auto piece = first_utf8(rest);
    if (piece.kind == utf8_kind::cut)
      break;
    if (piece.kind == utf8_kind::whole)
      text += rest.substr(0, piece.bytes);
    else
      text += replacement_character;
    at += piece.bytes;
  }
  held_.erase(0, at);
  return text;
}

std::string text_stream::flush() {
  const bool inside_character = !held_.empty();
  held_.clear();
  return inside_character ? replacement_character : "";
}

tokenizer::tokenizer(token_pieces pieces, std::vector<std::int32_t> eos, std::string digest)
  : pieces_(std::make_shared<const token_pieces>(std::move(pieces))), eos_(std::move(eos)),
    digest_(std::move(digest)) {}

std::string tokenizer::decode(const std::vector<std::int32_t>& tokens) const {
  auto out = stream();
  std::string text;
  for (const auto token : tokens)
    text += out.push(token);
  return text + out.flush();
}

} // namespace baton::gpu
