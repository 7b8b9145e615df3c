#include "gpu/tokenizer_words.hpp"

#include "gpu/tokenizer_utf8.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace baton::gpu {

namespace {

// Long runs of one class need backtracking space; 8 MiB covers some 100,000 characters of it.
constexpr std::size_t jit_stack_bytes = std::size_t{32} << 10;
constexpr std::size_t jit_stack_bytes_max = std::size_t{8} << 20;

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};

using compiled_pattern = std::unique_ptr<pcre2_code, freed_by<pcre2_code_free>>;

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

std::string message_of(int error) {
  PCRE2_UCHAR text[128];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

/// What one thread needs to match with any pattern.
class matcher {
public:
  matcher()
    : data_(pcre2_match_data_create(1, nullptr)),
      context_(pcre2_match_context_create(nullptr)),
      stack_(pcre2_jit_stack_create(jit_stack_bytes, jit_stack_bytes_max, nullptr)) {
    pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
  }

  /// Positive: a match, in begin() and end(). PCRE2_ERROR_NOMATCH or another error otherwise.
  int find(const pcre2_code* pattern, std::string_view text, std::size_t from) {
    return pcre2_match(pattern, units(text), text.size(), from, PCRE2_NO_UTF_CHECK, data_.get(),
                       context_.get());
  }
  std::size_t begin() const { return pcre2_get_ovector_pointer(data_.get())[0]; }
  std::size_t end() const { return pcre2_get_ovector_pointer(data_.get())[1]; }

private:
  std::unique_ptr<pcre2_match_data, freed_by<pcre2_match_data_free>> data_;
  std::unique_ptr<pcre2_match_context, freed_by<pcre2_match_context_free>> context_;
  std::unique_ptr<pcre2_jit_stack, freed_by<pcre2_jit_stack_free>> stack_;
};

} // namespace

struct word_splitter::step {
  compiled_pattern pattern;
  split_keeps keeps = split_keeps::everything;

  /// Appends the words of `text`. 0, or PCRE2's error.
  int split(matcher& find, std::string_view text, std::vector<std::string_view>& words) const {
    std::size_t done = 0; // up to here the text is in words, or dropped
    std::size_t from = 0;
    while (from < text.size()) {
      const int found = find.find(pattern.get(), text, from);
      if (found == PCRE2_ERROR_NOMATCH)
        break;
      if (found < 0)
        return found;
      const auto begin = find.begin();
      const auto end = find.end();
      if (end == begin) { // an empty match cuts nothing; go on behind the next character
        if (begin >= text.size())
          break;
        from = begin + first_utf8(text.substr(begin)).bytes;
        continue;
      }
      if (begin > done && keeps == split_keeps::everything)
        words.push_back(text.substr(done, begin - done));
      words.push_back(text.substr(begin, end - begin));
      done = from = end;
    }
    if (done < text.size() && keeps == split_keeps::everything)
      words.push_back(text.substr(done));
    return 0;
  }
};

word_splitter::word_splitter() = default;
word_splitter::~word_splitter() = default;
word_splitter::word_splitter(word_splitter&&) noexcept = default;
word_splitter& word_splitter::operator=(word_splitter&&) noexcept = default;

protocol::failure word_splitter::add(const std::string& pattern, split_keeps keeps) {
  const auto read = with_unicode_spaces(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  compiled_pattern compiled(
    pcre2_compile(units(read), read.size(), PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
  if (!compiled)
    return {protocol::reason::unsupported, "regular expression " + read + ", offset "
                                             + std::to_string(offset) + ": " + message_of(error)};
  // Where there is no compiler for this machine, matching interprets the pattern: slower, no more.
  pcre2_jit_compile(compiled.get(), PCRE2_JIT_COMPLETE);
  steps_.push_back({std::move(compiled), keeps});
  return {};
}

protocol::outcome<std::vector<std::string_view>> word_splitter::split(std::string_view text) const {
  std::vector<std::string_view> words;
  if (!text.empty())
    words.push_back(text);
  matcher find;
  for (const auto& each : steps_) {
    std::vector<std::string_view> parts;
    for (const auto word : words)
      if (const int error = each.split(find, word, parts); error < 0)
        return protocol::failure{protocol::reason::out_of_range,
                                 "prompt: splitting it into words: " + message_of(error)};
    words = std::move(parts);
  }
  return words;
}

std::string with_unicode_spaces(const std::string& pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's')
      out += "\\p{White_Space}";
    else if (escaped == 'S')
      out += "\\P{White_Space}";
    else
      out.append({'\\', escaped});
  }
  return out;
}

std::string quoted_pattern(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\^$.[]|()?*+{}-#").find(c) != std::string_view::npos)
      out += '\\';
    out += c;
  }
  return out;
}

} // namespace baton::gpu
