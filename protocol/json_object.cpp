#include "protocol/json_object.hpp"

#include "protocol/assert.hpp"
#include "protocol/json_codec.hpp"
#include "protocol/limits.hpp"

#include <algorithm>
#include <cmath>

namespace baton::protocol {

namespace {

const json empty_object = json::object();

std::string bound_text(double value) {
  json number = value;
  if (value == std::floor(value))
    number = static_cast<std::int64_t>(value);
  return to_text(number);
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'
         || c == '_';
}

/// "4GiB" to bytes; none when it is not a size.
std::optional<std::uint64_t> size_of_text(const std::string& text) {
  std::size_t digits = 0;
  std::uint64_t value = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    if (digits == 12) // a million GiB: more is a typing mistake, and would not fit
      return {};
    value = value * 10 + static_cast<std::uint64_t>(text[digits] - '0');
  }
  const std::string unit = text.substr(digits);
  const int shift = unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : -1;
  if (digits == 0 || shift < 0 || value >= (std::uint64_t{1} << (63 - shift)))
    return {};
  return value << shift;
}

std::size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

} // namespace

json json_reading::parse(const std::string& text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    refuse("", "longer than " + std::to_string(bytes_max) + " bytes");
    return {};
  }
  const outcome<json> parsed = parse_text(text);
  if (parsed)
    return parsed.value();
  refuse("", parsed.error().text);
  return {};
}

void json_reading::refuse(const std::string& path, const std::string& why) {
  if (!refused())
    error_ = {reason::bad_input, file_name_ + ": " + (path.empty() ? why : path + ": " + why)};
}

void json_reading::note(const std::string& path) {
  BATON_ASSERT(noting());
  std::string pattern;
  for (std::size_t i = 0; i < path.size(); ++i) {
    pattern += path[i];
    if (path[i] == '[')
      i = path.find(']', i) - 1;
  }
  known_fields_->insert(pattern);
}

json_object::json_object(json_reading& reading, const json& value, std::string path)
  : reading_(&reading), value_(&value), path_(std::move(path)) {
  if (value.is_object())
    return;
  reading_->refuse(path_, expected("an object", value).why);
  value_ = &empty_object;
}

bool json_object::empty() const { return value_->empty(); }

bool json_object::has(const char* name) { return find(name, false) != nullptr; }

std::string json_object::path_of(const std::string& name) const {
  return path_.empty() ? name : path_ + "." + name;
}

void json_object::refuse(const char* name, const std::string& why) const {
  reading_->refuse(path_of(name), why);
}

const json* json_object::find(const char* name, bool required) {
  asked_.push_back(name);
  if (reading_->noting())
    reading_->note(path_of(name));
  const auto found = value_->find(name);
  if (found != value_->end())
    return &*found;
  if (required)
    refuse(name, "missing");
  return nullptr;
}

void json_object::keep(const char* name, json_error error) const {
  if (!error)
    return;
  error->under(name);
  reading_->refuse(path_.empty() ? error->path : path_ + "." + error->path, error->why);
}

std::int64_t json_object::integer(const char* name, integer_range allowed,
                                  std::optional<std::int64_t> otherwise) {
  const json* from = find(name, !otherwise);
  if (from == nullptr)
    return otherwise.value_or(allowed.min);
  json number = allowed.min;
  keep(name, read_integer(*from, allowed.min, static_cast<std::uint64_t>(allowed.max), number));
  return number.get<std::int64_t>();
}

std::uint64_t json_object::bytes(const char* name, integer_range allowed,
                                 std::optional<std::uint64_t> otherwise) {
  const json* from = find(name, !otherwise);
  const std::uint64_t min = static_cast<std::uint64_t>(allowed.min);
  if (from == nullptr)
    return otherwise.value_or(min);
  json number = min;
  if (from->is_string()) {
    const auto size = size_of_text(from->get_ref<const std::string&>());
    if (!size) {
      keep(name, expected("bytes as an integer, or a size such as \"64MiB\"", *from));
      return min;
    }
    keep(name, read_integer(*size, allowed.min, static_cast<std::uint64_t>(allowed.max), number));
  } else {
    keep(name, read_integer(*from, allowed.min, static_cast<std::uint64_t>(allowed.max), number));
  }
  return number.get<std::uint64_t>();
}

real json_object::fraction(const char* name, double min, double max, double otherwise) {
  const json* from = find(name, false);
  if (from != nullptr) {
    const bool fits = from->is_number() && from->get<double>() >= min && from->get<double>() <= max;
    if (fits)
      otherwise = from->get<double>();
    else
      keep(name, expected("a number from " + bound_text(min) + " to " + bound_text(max),
                          *from));
  }
  return real::of(static_cast<float>(otherwise));
}

std::string json_object::text(const char* name, std::size_t characters_max,
                              std::optional<std::string> otherwise) {
  const json* from = find(name, !otherwise);
  if (from == nullptr)
    return otherwise.value_or("");
  std::string value;
  json_error error = json_form<std::string>::read(*from, value);
  if (!error && (value.empty() || value.size() > characters_max))
    error = expected("1 to " + std::to_string(characters_max) + " characters", *from);
  keep(name, error);
  return value;
}

std::string json_object::name(const char* name, std::optional<std::string> otherwise) {
  const std::string value = text(name, limits::name_characters_max, std::move(otherwise));
  if (!std::all_of(value.begin(), value.end(), is_name_character))
    keep(name, expected("letters, digits, - and _", json(value)));
  return value;
}

std::vector<std::int32_t> json_object::token_ids(const char* name, std::size_t count_max) {
  std::vector<std::int32_t> ids;
  const json* from = find(name, false);
  if (from == nullptr)
    return ids;
  json_error error = json_form<std::vector<std::int32_t>>::read(*from, ids);
  if (!error && (ids.empty() || ids.size() > count_max))
    error = json_problem{"", "expected 1 to " + std::to_string(count_max) + " token ids, got "
                               + std::to_string(ids.size())};
  for (std::size_t i = 0; i < ids.size() && !error; ++i)
    if (ids[i] < 0) {
      error = expected("a token id", ids[i]);
      error->under(i);
    }
  keep(name, error);
  return ids;
}

std::optional<std::size_t> json_object::index_of_word(const char* name,
                                                      const std::vector<const char*>& names,
                                                      bool optional) {
  const json* from = find(name, !optional);
  if (from == nullptr)
    return {};
  std::string choices;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (from->is_string() && from->get_ref<const std::string&>() == names[i])
      return i;
    choices += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    choices += names[i];
  }
  keep(name, expected(choices, *from));
  return {};
}

json_object json_object::object(const char* name) {
  const json* from = find(name, false);
  return {*reading_, from == nullptr ? empty_object : *from, path_of(name)};
}

void json_object::each(const char* name, std::size_t count_max,
                       const std::function<void(json_object&)>& read) {
  const json* from = find(name, false);
  if (from == nullptr)
    return;
  if (!from->is_array())
    return keep(name, expected("an array", *from));
  if (from->size() > count_max)
    return refuse(name, "expected at most " + std::to_string(count_max) + " elements, got "
                          + std::to_string(from->size()));
  for (std::size_t i = 0; i < from->size() && !reading_->refused(); ++i) {
    json_object element(*reading_, (*from)[i], path_of(name) + "[" + std::to_string(i) + "]");
    read(element);
    element.finish();
  }
}

std::vector<std::string> json_object::names() const {
  std::vector<std::string> names;
  for (const auto& field : value_->items())
    names.push_back(field.key());
  return names;
}

void json_object::exclusive(std::initializer_list<const char*> names, presence wanted) {
  std::string all;
  std::vector<const char*> present;
  for (const char* name : names) {
    all += (all.empty() ? "" : ", ") + std::string(name);
    if (has(name))
      present.push_back(name);
  }
  if (present.size() > 1)
    refuse(present[1], "excludes " + std::string(present[0]) + ": write one of " + all);
  if (present.empty() && wanted == presence::one_required)
    reading_->refuse(path_, "expected one of " + all);
}

void json_object::finish() {
  for (const auto& [name, value] : value_->items()) {
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end())
      continue;
    const std::string near = nearest_name(name, asked_);
    refuse(name.c_str(), near.empty() ? "unknown field" : "unknown field; did you mean " + near
                                                            + "?");
  }
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& known) {
  std::string nearest;
  const std::size_t too_many = name.size() / 3 + 2; // more edits than this make another word
  std::size_t fewest = std::string::npos;
  for (const std::string& candidate : known) {
    const std::size_t edits = edits_between(name, candidate);
    const bool near = edits < too_many || candidate.compare(0, name.size(), name) == 0;
    if (near && edits < fewest) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

} // namespace baton::protocol
