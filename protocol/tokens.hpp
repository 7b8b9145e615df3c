// Token ids in messages. They are the private text of a prompt or an answer, so their JSON form
// (traces, logs) is redacted: a list keeps only its length, a single id keeps nothing.
#pragma once

#include "protocol/fields.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace baton::protocol {

/// On the wire: the ids. In JSON: {"count": N}, which reads back as N zeros.
struct token_list {
  std::vector<std::int32_t> ids;

  static constexpr const char* type = "token_list";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("ids", s.ids));
  }
};

/// On the wire: the id. In JSON: null, which reads back as 0.
struct token_id {
  std::int32_t value = 0;

  static constexpr const char* type = "token_id";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("value", s.value));
  }
};

/// Text of a prompt or an answer. On the wire: the text. In JSON: {"bytes": N}, which reads back
/// as nothing.
struct private_text {
  std::string text;

  private_text() = default;
  private_text(std::string t) : text(std::move(t)) {}

  static constexpr const char* type = "private_text";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("text", s.text));
  }
};

} // namespace baton::protocol
