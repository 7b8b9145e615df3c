// Scripts, messages and accounts that the tests of the client are made of.
#pragma once

#include "actors/client_run.hpp"
#include "protocol/script.hpp"

#include <doctest/doctest.h>
#include <string>

namespace client_support {

using namespace baton;
using namespace baton::protocol;

inline script parsed(const std::string& text) {
  auto s = parse_script(text, "script.json");
  REQUIRE_MESSAGE(s, s.error().text);
  return s.value();
}

/// A script of requests with the given fields beside id and prompt: {"id": "a", ...}.
inline script requests(const std::string& list, const std::string& more = "") {
  return parsed("{\"name\": \"test\", \"requests\": [" + list + "]" + more + "}");
}

inline std::string request(const std::string& id, const std::string& more = "") {
  return "{\"id\": \"" + id + "\", \"prompt_length\": 4, \"output_tokens\": 8" + more + "}";
}

constexpr instant at_ms(std::int64_t ms) { return {ms * 1'000'000}; }

inline frame_forwarded frame(const std::string& id, std::uint32_t index, std::int32_t token) {
  frame_forwarded f;
  f.external = {id};
  f.index = index;
  f.token = {token};
  return f;
}

inline frame_text text(const std::string& id, std::uint32_t index, std::string piece) {
  return {{id}, index, std::move(piece)};
}

inline request_ended ended(const std::string& id, outcome_kind kind, std::uint32_t tokens,
                           failure why = {}) {
  request_ended e;
  e.external = {id};
  e.kind = kind;
  e.finish = kind == outcome_kind::completed ? finish_reason::length : finish_reason::none;
  e.why = std::move(why);
  e.tokens = tokens;
  e.attempts = 1;
  return e;
}

/// Submits everything and gives the request these tokens, 10 ms apart, and an outcome.
inline void complete(actors::client_run& run, const std::string& id,
                     const std::vector<std::int32_t>& tokens,
                     outcome_kind kind = outcome_kind::completed, failure why = {}) {
  std::int64_t t = 100;
  for (std::uint32_t i = 0; i < tokens.size(); ++i, t += 10)
    run.frame(frame(id, i, tokens[i]), at_ms(t));
  run.ended(ended(id, kind, static_cast<std::uint32_t>(tokens.size()), std::move(why)), at_ms(t));
}

} // namespace client_support
