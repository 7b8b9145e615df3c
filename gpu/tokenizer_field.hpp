// A value in a JSON file that knows where it stands, so that a refusal can name file and field.
#pragma once

#include "protocol/outcome.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace baton::gpu {

/// Reading a file is one descent, and its first refusal ends it: the members throw a
/// protocol::failure, which the function that opened the file catches and returns.
class json_field {
public:
  /// `where` is "file: field"; the value must outlive this.
  json_field(const nlohmann::json& value, std::string where)
    : value_(&value), where_(std::move(where)) {}

  /// A member; null when it is missing. Throws when this is not an object.
  json_field operator[](const std::string& name) const;
  /// An element of a list.
  json_field operator[](std::size_t index) const;

  bool is_null() const { return value_->is_null(); }
  bool is_text() const { return value_->is_string(); }
  bool is_list() const { return value_->is_array(); }
  bool has(const std::string& name) const { return value_->is_object() && value_->contains(name); }

  /// Elements of a list; throws when this is none.
  std::size_t size() const;
  /// The object itself; throws when this is none.
  const nlohmann::json& members() const;
  const std::string& text() const;
  bool flag() const;
  /// `otherwise` where the value is missing or null.
  bool flag_or(bool otherwise) const { return is_null() ? otherwise : flag(); }
  std::uint32_t count() const;
  /// A token id below vocab_size.
  std::int32_t id(std::uint32_t vocab_size) const;

  [[noreturn]] void malformed(const std::string& why) const;
  [[noreturn]] void unsupported(const std::string& why) const;

private:
  const nlohmann::json* value_;
  std::string where_;
};

/// Parses the content of a file. Throws bad_input.
nlohmann::json parse_json_file(const std::string& path, const std::string& content);

} // namespace baton::gpu
