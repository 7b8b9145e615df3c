#include "gpu/tokenizer_text.hpp"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>

namespace baton::gpu {

namespace {

std::string to_nfc(std::string text) {
  UErrorCode status = U_ZERO_ERROR;
  const auto* nfc = icu::Normalizer2::getNFCInstance(status);
  const icu::StringPiece whole(text.data(), static_cast<std::int32_t>(text.size()));
  if (U_FAILURE(status) || nfc->isNormalizedUTF8(whole, status))
    return text;
  std::string composed;
  icu::StringByteSink<std::string> sink(&composed);
  nfc->normalizeUTF8(0, whole, sink, nullptr, status);
  return composed;
}

struct apply_step {
  std::string text;

  std::string operator()(const normalize_nfc&) { return to_nfc(std::move(text)); }
  std::string operator()(const normalize_prepend& step) {
    return text.empty() ? text : step.text + text;
  }
  std::string operator()(const normalize_replace& step) {
    return replace_all(text, step.from, step.to);
  }
};

/// The code point that begins at the front, or ends at the back, of a text that is not empty.
UChar32 front_of(std::string_view text) {
  UChar32 c = 0;
  U8_GET(reinterpret_cast<const std::uint8_t*>(text.data()), 0, 0,
         static_cast<std::int32_t>(text.size()), c);
  return c;
}

UChar32 back_of(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  auto at = static_cast<std::int32_t>(text.size());
  UChar32 c = 0;
  U8_PREV(bytes, 0, at, c);
  return c;
}

/// A word character as regular expressions have it (Unicode TS 18, annex C).
bool is_word(UChar32 c) {
  return u_hasBinaryProperty(c, UCHAR_ALPHABETIC) || u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL)
         || (U_GET_GC_MASK(c) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0;
}

bool stands_alone(std::string_view before, std::string_view behind) {
  return (before.empty() || !is_word(back_of(before)))
         && (behind.empty() || !is_word(front_of(behind)));
}

std::size_t spaces_at_back(std::string_view text) {
  auto rest = text;
  while (!rest.empty() && u_isUWhiteSpace(back_of(rest)))
    rest.remove_suffix(U8_LENGTH(back_of(rest)));
  return text.size() - rest.size();
}

std::size_t spaces_at_front(std::string_view text) {
  auto rest = text;
  while (!rest.empty() && u_isUWhiteSpace(front_of(rest)))
    rest.remove_prefix(U8_LENGTH(front_of(rest)));
  return text.size() - rest.size();
}

} // namespace

std::string normalize(const std::vector<normalizer_step>& steps, std::string_view text) {
  std::string out(text);
  for (const auto& step : steps)
    out = std::visit(apply_step{std::move(out)}, step);
  return out;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t done = 0;
  for (auto at = text.find(from); at != text.npos; at = text.find(from, done)) {
    out.append(text.substr(done, at - done)).append(to);
    done = at + from.size();
  }
  return out.append(text.substr(done));
}

added_token_finder::added_token_finder(std::vector<added_token> tokens)
  : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const auto& a, const auto& b) {
    return a.content.size() > b.content.size();
  });
  for (const auto& token : tokens_)
    starts_[static_cast<std::uint8_t>(token.content.front())] = true;
}

/// The longest token at the front of `text`.
const added_token* added_token_finder::at(std::string_view text) const {
  if (!starts_[static_cast<std::uint8_t>(text.front())])
    return nullptr;
  for (const auto& token : tokens_)
    if (text.substr(0, token.content.size()) == token.content)
      return &token;
  return nullptr;
}

std::vector<text_part> added_token_finder::split(std::string_view text) const {
  std::vector<text_part> parts;
  std::size_t done = 0; // up to here the text is in parts
  std::size_t from = 0;
  while (from < text.size()) {
    const auto* token = at(text.substr(from));
    if (!token) {
      ++from;
      continue;
    }
    auto begin = from;
    auto end = from + token->content.size();
    from = end;
    // A refused match still uses up its text, as in the reference.
    if (begin < done
        || (token->single_word && !stands_alone(text.substr(0, begin), text.substr(end))))
      continue;
    if (token->lstrip)
      begin = std::max(done, begin - spaces_at_back(text.substr(0, begin)));
    if (token->rstrip)
      end += spaces_at_front(text.substr(end));
    if (begin > done)
      parts.push_back({text.substr(done, begin - done), -1});
    parts.push_back({text.substr(begin, end - begin), token->id});
    done = end;
  }
  if (done < text.size())
    parts.push_back({text.substr(done), -1});
  return parts;
}

} // namespace baton::gpu
