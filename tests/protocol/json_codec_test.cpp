#include "protocol/json_codec.hpp"

#include <doctest/doctest.h>
#include <limits>

// Not in an unnamed namespace: equality is found through the namespace of the members' types.
namespace baton::protocol {

enum class colour : std::uint8_t { red, green };
constexpr colour last_value(colour) { return colour::green; }
enum class open_ended : std::uint8_t { first };

struct nothing_more {
  static constexpr const char* type = "nothing_more";
  template <class S>
  static auto fields(S&) {
    return std::make_tuple();
  }
};

struct sample {
  attempt_id attempt;
  colour shade = colour::red;
  reason why = reason::none;
  bool flag = false;
  std::string text;
  std::int8_t small = 0;
  std::uint64_t large = 0;
  instant at;
  real temperature;
  std::vector<block_ref> blocks;
  std::optional<group_name> group;
  std::optional<token_id> token;
  std::array<std::uint32_t, 3> three{};
  std::pair<rank_id, std::string> named;
  token_list prompt;
  packed_floats logits;
  std::variant<nothing_more, block_ref, failure> last;

  static constexpr const char* type = "sample";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(
      field("attempt", s.attempt), field("shade", s.shade), field("why", s.why),
      field("flag", s.flag), field("text", s.text), field("small", s.small),
      field("large", s.large), field("at", s.at), field("temperature", s.temperature),
      field("blocks", s.blocks), field("group", s.group), field("token", s.token),
      field("three", s.three), field("named", s.named), field("prompt", s.prompt),
      field("logits", s.logits), field("last", s.last));
  }
};

} // namespace baton::protocol

using namespace baton::protocol;

namespace {

sample full_sample() {
  sample s;
  s.attempt = {{0x0123456789abcdefULL, ~0ULL}, 3, {7}};
  s.shade = colour::green;
  s.why = reason::lease_expired;
  s.flag = true;
  s.text = "a \"quoted\" line\n";
  s.small = -128;
  s.large = std::numeric_limits<std::uint64_t>::max();
  s.at = {-5};
  s.temperature = real::of(0.1F);
  s.blocks = {{{1}, {2}}, {{3}, {4}}};
  s.group = group_name{"P7"};
  s.token = token_id{0};
  s.three = {1, 2, 3};
  s.named = {{2}, "two"};
  s.prompt.ids = {0, 0, 0};
  s.logits.values = {0.0F, 0.0F};
  s.last = block_ref{{9}, {10}};
  return s;
}

/// The text of the error when one member of a full sample is replaced; "" when it is accepted.
std::string error_with(const json::json_pointer& where, const json& value) {
  json form = to_json(full_sample());
  form[where] = value;
  const auto read = from_json<sample>(form);
  return read ? "" : read.error().text;
}

std::string error_with(const char* where, const json& value) {
  return error_with(json::json_pointer(where), value);
}

} // namespace

TEST_CASE("every kind of member survives the round trip through JSON text") {
  const sample before = full_sample();
  const auto parsed = parse_text(to_text(to_json(before)));
  REQUIRE(parsed);
  const auto after = from_json<sample>(parsed.value());
  REQUIRE_MESSAGE(after, after.error().text);
  CHECK(after.value() == before);
}

TEST_CASE("defaults survive the round trip too") {
  const auto after = from_json<sample>(to_json(sample{}));
  REQUIRE_MESSAGE(after, after.error().text);
  CHECK(after.value() == sample{});
}

TEST_CASE("forms are what a reader of traces expects") {
  const json form = to_json(full_sample());
  CHECK(form["attempt"]["request"] == "0123456789abcdefffffffffffffffff");
  CHECK(form["shade"] == 1);
  CHECK(form["why"] == "lease_expired");
  CHECK(form["at"] == -5);
  CHECK(form["group"] == "P7");
  CHECK(form["last"] == json{{"type", "block_ref"}, {"block", 9}, {"gen", 10}});
  CHECK(to_json(sample{})["group"].is_null());
  CHECK(to_json(sample{})["last"] == json{{"type", "nothing_more"}});
}

TEST_CASE("token ids never appear in JSON") {
  sample s = full_sample();
  s.prompt.ids = {11111, 22222};
  s.token = token_id{33333};
  const std::string text = to_text(to_json(s));
  CHECK(text.find("11111") == std::string::npos);
  CHECK(text.find("22222") == std::string::npos);
  CHECK(text.find("33333") == std::string::npos);
  const auto back = from_json<sample>(to_json(s));
  REQUIRE(back);
  CHECK(back.value().prompt.ids == std::vector<std::int32_t>{0, 0});
  REQUIRE(back.value().token);
  CHECK(back.value().token->value == 0);
}

TEST_CASE("a real keeps its bits, whatever they are") {
  for (const std::uint32_t bits : {0U, 0x80000000U, 1U, 0x3dcccccdU, 0x7f7fffffU, 0x7f800000U,
                                   0xff800000U, 0x7fc00001U}) {
    const auto back = from_json<real>(parse_text(to_text(to_json(real{bits}))).value());
    REQUIRE(back);
    CHECK(back.value().bits == bits);
  }
  CHECK_FALSE(from_json<real>(json(1e39)));
  CHECK_FALSE(from_json<real>(json("1")));
}

TEST_CASE("extra fields are ignored, missing ones are named") {
  json form = to_json(full_sample());
  form["later"] = {1, 2, 3};
  CHECK(from_json<sample>(form));
  form["attempt"].erase("epoch");
  CHECK(from_json<sample>(form).error().text == "attempt.epoch: missing");
  CHECK(from_json<sample>(form).error().why == reason::bad_input);
}

TEST_CASE("each malformed member is refused by its path and reason") {
  CHECK(error_with("/attempt/ordinal", -1)
        == "attempt.ordinal: expected 0 to 4294967295, got -1");
  CHECK(error_with("/attempt/ordinal", 4294967296)
        == "attempt.ordinal: expected 0 to 4294967295, got 4294967296");
  CHECK(error_with("/attempt/ordinal", 1.0)
        == "attempt.ordinal: expected 0 to 4294967295, got 1.0");
  CHECK(error_with("/attempt/ordinal", true)
        == "attempt.ordinal: expected 0 to 4294967295, got true");
  CHECK(error_with("/attempt/request", "12")
        == "attempt.request: expected 32 hexadecimal digits, got \"12\"");
  CHECK(error_with("/attempt", json::array()) == "attempt: expected an object, got array");
  CHECK(error_with("/small", 128) == "small: expected -128 to 127, got 128");
  CHECK(error_with("/small", -129) == "small: expected -128 to 127, got -129");
  CHECK(error_with("/large", 1.8446744073709552e19)
        == "large: expected 0 to 18446744073709551615, got 1.8446744073709552e+19");
  CHECK(error_with("/shade", 2) == "shade: expected 0 to 1, got 2");
  CHECK(from_json<open_ended>(json(255)));
  CHECK_FALSE(from_json<open_ended>(json(256)));
  CHECK(error_with("/why", "tired") == "why: expected the name of a reason, got \"tired\"");
  CHECK(error_with("/why", 3) == "why: expected the name of a reason, got 3");
  CHECK(error_with("/flag", 1) == "flag: expected true or false, got 1");
  CHECK(error_with("/text", nullptr) == "text: expected a string, got null");
  CHECK(error_with("/blocks/1/gen", "x")
        == "blocks[1].gen: expected 0 to 18446744073709551615, got \"x\"");
  CHECK(error_with("/blocks", json::object()) == "blocks: expected an array, got object");
  CHECK(error_with("/group", 7) == "group: expected a string, got 7");
  CHECK(error_with("/token", nullptr) == "token: expected [] or [value], got null");
  CHECK(error_with("/token", json::array({5})) == "token: expected null, got 5");
  CHECK(error_with("/three", {1, 2}) == "three: expected an array of 3, got array");
  CHECK(error_with("/named", {1, 2}) == "named[1]: expected a string, got 2");
  CHECK(error_with("/prompt/count", 4294967295)
        == "prompt.count: expected 0 to 32768, got 4294967295");
  CHECK(error_with("/last", {{"type", "block"}}) == "last.type: unknown type \"block\"");
  CHECK(error_with("/last", json::object()) == "last.type: missing");
  CHECK(error_with("/last", {{"type", 1}}) == "last.type: expected a string");
  CHECK(error_with("/last", {{"type", "block_ref"}, {"block", 1}}) == "last.gen: missing");
}

TEST_CASE("long values are not repeated in errors") {
  const std::string secret(100, 's');
  CHECK(error_with("/flag", secret) == "flag: expected true or false, got a long string");
}

TEST_CASE("text that is not JSON is an error with its place, not an exception") {
  const auto cut = parse_text("{\"a\": ");
  REQUIRE_FALSE(cut);
  CHECK(cut.error().why == reason::bad_input);
  CHECK(cut.error().text.find("line 1, column 7") != std::string::npos);
  CHECK_FALSE(parse_text(""));
  CHECK_FALSE(parse_text("{} {}"));
  CHECK_FALSE(parse_text("\"\xff\""));
}

TEST_CASE("a field written twice is refused, equal names in different objects are not") {
  CHECK(parse_text("{\"a\": 1, \"a\": 2}").error().text == "field \"a\" is written twice");
  CHECK(parse_text("[{\"b\": {\"a\": 1, \"a\": 1}}]").error().text
        == "field \"a\" is written twice");
  CHECK(parse_text("{\"a\": {\"a\": 1}, \"b\": [{\"a\": 1}, {\"a\": 2}]}"));
}

TEST_CASE("text that is not UTF-8 can still be written") {
  CHECK(to_text(to_json(failure{reason::internal, "\xff"})).find("\xef\xbf\xbd")
        != std::string::npos);
}
