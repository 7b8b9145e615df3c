#include "gpu/tokenizer_field.hpp"

#include <limits>

namespace baton::gpu {

using protocol::failure;
using protocol::reason;

json_field json_field::operator[](const std::string& name) const {
  static const nlohmann::json missing;
  const auto& object = members();
  const auto found = object.find(name);
  const bool top = where_.size() > 2 && where_.compare(where_.size() - 2, 2, ": ") == 0;
  return {found == object.end() ? missing : *found, where_ + (top ? "" : ".") + name};
}

json_field json_field::operator[](std::size_t index) const {
  return {value_->at(index), where_ + "[" + std::to_string(index) + "]"};
}

std::size_t json_field::size() const {
  if (!value_->is_array())
    malformed("not a list");
  return value_->size();
}

const nlohmann::json& json_field::members() const {
  if (!value_->is_object())
    malformed("not an object");
  return *value_;
}

const std::string& json_field::text() const {
  if (!value_->is_string())
    malformed("not a string");
  return value_->get_ref<const std::string&>();
}

bool json_field::flag() const {
  if (!value_->is_boolean())
    malformed("neither true nor false");
  return value_->get<bool>();
}

std::uint32_t json_field::count() const {
  if (!value_->is_number_unsigned()
      || value_->get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max())
    malformed("not a number from 0 to 4294967295");
  return value_->get<std::uint32_t>();
}

std::int32_t json_field::id(std::uint32_t vocab_size) const {
  if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() >= vocab_size)
    malformed("not a token id below the model's vocab_size " + std::to_string(vocab_size));
  return value_->get<std::int32_t>();
}

void json_field::malformed(const std::string& why) const {
  throw failure{reason::bad_input, where_ + ": " + why};
}

void json_field::unsupported(const std::string& why) const {
  throw failure{reason::unsupported, where_ + ": " + why};
}

nlohmann::json parse_json_file(const std::string& path, const std::string& content) {
  auto parsed = nlohmann::json::parse(content, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded())
    throw failure{reason::bad_input, path + ": not JSON"};
  return parsed;
}

} // namespace baton::gpu
