// Reading JSON that people write. The first mistake is kept, as "file: path: reason"; reading goes
// on with default values, so that parsers need no branch per field. Fields that nobody asks for are
// mistakes too, answered with the nearest known name.
#pragma once

#include "protocol/json_values.hpp"

#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

namespace baton::protocol {

/// One file being read.
class json_reading {
public:
  /// `known_fields`, when given, receives every field that is asked for, indices written as []:
  /// "groups[].ranks".
  explicit json_reading(std::string file_name, std::set<std::string>* known_fields = nullptr)
    : file_name_(std::move(file_name)), known_fields_(known_fields) {}

  /// The file's content; refuses what is too long or not JSON, and is null then.
  json parse(const std::string& text, std::size_t bytes_max);

  /// Keeps the first mistake; `path` is "" for the whole file.
  void refuse(const std::string& path, const std::string& why);
  bool refused() const { return static_cast<bool>(error_); }
  const failure& error() const { return error_; }

  bool noting() const { return known_fields_ != nullptr; }
  void note(const std::string& path);

private:
  std::string file_name_;
  failure error_;
  std::set<std::string>* known_fields_;
};

/// A name in a file for a value of an enum.
template <class E>
struct json_word {
  const char* name;
  E value;
};

struct integer_range {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// One object of the file. Getters take the field's name, what is allowed and the default; without
/// a default the field is required. A refused field yields the default or an empty value.
class json_object {
public:
  json_object(json_reading& reading, const json& value, std::string path);

  bool empty() const;
  /// Counts as asking for the field.
  bool has(const char* name);
  /// Where a field is, for mistakes that concern several fields.
  std::string path_of(const std::string& name) const;
  /// Says that the value of a field is wrong.
  void refuse(const char* name, const std::string& why) const;

  std::int64_t integer(const char* name, integer_range allowed,
                       std::optional<std::int64_t> otherwise = {});
  /// As integer, for unsigned members of any width that holds `allowed`.
  template <class T>
  T number(const char* name, integer_range allowed, std::optional<std::int64_t> otherwise = {}) {
    return static_cast<T>(integer(name, allowed, otherwise));
  }
  /// Any type with a JSON form, in its own range.
  template <class T>
  T value(const char* name, T otherwise) {
    if (const json* from = find(name, false))
      keep(name, json_form<T>::read(*from, otherwise));
    return otherwise;
  }
  /// Bytes: an integer, or a string such as "4GiB" (KiB, MiB, GiB).
  std::uint64_t bytes(const char* name, integer_range allowed,
                      std::optional<std::uint64_t> otherwise = {});
  real fraction(const char* name, double min, double max, double otherwise);
  /// Text of 1 to `characters_max` bytes.
  std::string text(const char* name, std::size_t characters_max,
                   std::optional<std::string> otherwise = {});
  /// A text that can stand in paths, logs and node names: letters, digits, - and _.
  std::string name(const char* name, std::optional<std::string> otherwise = {});
  /// 1 to count_max ids, none of them negative; empty for an absent field.
  std::vector<std::int32_t> token_ids(const char* name, std::size_t count_max);

  template <class E, std::size_t N>
  E word(const char* name, const json_word<E> (&words)[N], std::optional<E> otherwise = {}) {
    std::vector<const char*> names;
    for (const json_word<E>& w : words)
      names.push_back(w.name);
    const std::optional<std::size_t> found = index_of_word(name, names, otherwise.has_value());
    return found ? words[*found].value : otherwise.value_or(words[0].value);
  }

  /// The object in a field; an empty one where the field is absent, and then every field in it is.
  json_object object(const char* name);
  /// Calls `read` for each element of an array of objects; none for an absent field.
  void each(const char* name, std::size_t count_max,
            const std::function<void(json_object&)>& read);
  /// Names of all fields, for objects whose names are free.
  std::vector<std::string> names() const;

  /// Refuses a second of several fields that exclude each other, and the absence of all of them
  /// where one is required.
  enum class presence : std::uint8_t { one_required, at_most_one };
  void exclusive(std::initializer_list<const char*> names, presence wanted);

  /// Refuses every field that was not asked for. Call it last.
  void finish();

private:
  const json* find(const char* name, bool required);
  void keep(const char* name, json_error error) const;
  std::optional<std::size_t> index_of_word(const char* name, const std::vector<const char*>& names,
                                           bool optional);

  json_reading* reading_;
  const json* value_;
  std::string path_;
  std::vector<std::string> asked_;
};

/// The name of `value` in a table of words.
template <class E, std::size_t N>
const char* word_of(const json_word<E> (&words)[N], E value) {
  for (const json_word<E>& w : words)
    if (w.value == value)
      return w.name;
  return "unknown";
}

/// The known name with the fewest edits from `name`; "" when none is near.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);

} // namespace baton::protocol
