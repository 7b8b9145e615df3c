#include "protocol/script.hpp"

#include "protocol/json_codec.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;

namespace {

json good() {
  return parse_text(R"({
    "name": "s",
    "requests": [{"id": "a", "prompt": "text", "output_tokens": 8},
                 {"id": "b", "prompt_length": 5, "output_tokens": 8, "expect": {}}],
    "generate": [{"id": "g", "count": 2, "prompt_length": {"min": 1, "max": 2},
                  "output_tokens": {"min": 1, "max": 2}}]})")
    .value();
}

std::string error_of(const std::string& text) {
  const auto s = parse_script(text, "script.json");
  CHECK((s.ok() || s.error().why == reason::bad_input));
  return s ? "accepted" : s.error().text;
}

struct mistake {
  std::string where;
  json value;
  std::string error;
};

void check_each(const std::vector<mistake>& mistakes) {
  for (const mistake& m : mistakes) {
    CAPTURE(m.where);
    json file = good();
    file[json::json_pointer(m.where)] = m.value;
    CHECK(error_of(to_text(file)) == "script.json: " + m.error);
  }
}

} // namespace

TEST_CASE("the script that the other cases damage is accepted") {
  CHECK(error_of(to_text(good())) == "accepted");
}

TEST_CASE("scripts that are not JSON objects are refused") {
  CHECK(error_of("[1]") == "script.json: expected an object, got array");
  CHECK(error_of("{").find("script.json: not JSON: parse error at line 1, column 2") == 0);
  CHECK(error_of("{\"name\": \"s\"}")
        == "script.json: requests: expected at least one request, here or in generate");
}

TEST_CASE("each mistake in a scripted request names file, field and reason") {
  check_each({
    {"/requests/0/id", "a b", "requests[0].id: expected letters, digits, - and _, got \"a b\""},
    {"/requests/1/id", "a", "requests[1].id: \"a\" is taken"},
    {"/requests/1/id", "g-1", "generate[0].id: \"g-1\" is taken"},
    {"/requests/0/count", 0, "requests[0].count: expected 1 to 100000, got 0"},
    {"/requests/0/count", 100'000, "expected at most 100000 requests, got 100003"},
    {"/requests/0/at_ms", -1, "requests[0].at_ms: expected 0 to 3600000, got -1"},
    {"/requests/0/prompt", "", "requests[0].prompt: expected 1 to 196608 characters, got \"\""},
    {"/requests/0/prompt_tokens", {1},
     "requests[0].prompt_tokens: excludes prompt: write one of prompt, prompt_tokens, "
     "prompt_length"},
    {"/requests/1/prompt_length", 16'385,
     "requests[1].prompt_length: expected 1 to 16384, got 16385"},
    {"/requests/0/output_tokens", 0, "requests[0].output_tokens: expected 1 to 16384, got 0"},
    {"/requests/0/outputtokens", 8,
     "requests[0].outputtokens: unknown field; did you mean output_tokens?"},
    {"/requests/0/ignore_eos", 1, "requests[0].ignore_eos: expected true or false, got 1"},
    {"/requests/0/sampling", {{"temperature", -0.5}, {"seed", 1}},
     "requests[0].sampling.temperature: expected a number from 0 to 100, got -0.5"},
    {"/requests/0/sampling", {{"top_p", 0}, {"seed", 1}},
     "requests[0].sampling.top_p: expected more than 0"},
    {"/requests/0/sampling", {{"seed", -1}, {"top_k", 1}},
     "requests[0].sampling.seed: expected 0 to 18446744073709551615, got -1"},
    {"/requests/0/retries", 4, "requests[0].retries: expected 0 to 3, got 4"},
    {"/requests/0/group", "P7", "requests[0].group: expected an object, got \"P7\""},
    {"/requests/0/group", {{"prefil", "P7"}, {"decode", "D3"}},
     "requests[0].group.prefil: unknown field; did you mean prefill?"},
  });
}

TEST_CASE("each mistake in a cancel or a fault names file, field and reason") {
  check_each({
    {"/requests/0/cancel", json::object(),
     "requests[0].cancel: expected one of at, after_ms, after_tokens"},
    {"/requests/0/cancel", {{"at", "prefilling"}, {"after_ms", 5}},
     "requests[0].cancel.after_ms: excludes at: write one of at, after_ms, after_tokens"},
    {"/requests/0/cancel/at", "done",
     "requests[0].cancel.at: expected placing, reserving, prefilling, handing_off or decoding, "
     "got \"done\""},
    {"/requests/0/cancel/after_tokens", 0,
     "requests[0].cancel.after_tokens: expected 1 to 16384, got 0"},
    {"/requests/0/fault/manifest_field", "model.dtyp",
     "requests[0].fault.manifest_field: a manifest has no \"model.dtyp\"; did you mean "
     "model.dtype?"},
    {"/requests/0/fault/stall_after_fraction", 1.5,
     "requests[0].fault.stall_after_fraction: expected a number from 0 to 1, got 1.5"},
    {"/requests/0/fault/stall", 1,
     "requests[0].fault.stall: unknown field; did you mean stall_ms?"},
  });
}

TEST_CASE("each mistake in what a request expects names file, field and reason") {
  check_each({
    {"/requests/1/expect/outcome", "success",
     "requests[1].expect.outcome: expected completed, failed, cancelled, interrupted or refused, "
     "got \"success\""},
    {"/requests/1/expect/outcom", "completed",
     "requests[1].expect.outcom: unknown field; did you mean outcome?"},
    {"/requests/1/expect/reason", "late",
     "requests[1].expect.reason: expected the name of a reason, got \"late\""},
    {"/requests/1/expect", {{"outcome", "completed"}, {"reason", "corrupt"}},
     "requests[1].expect.reason: a completed request has none"},
    {"/requests/1/expect/tokens", {1, -2},
     "requests[1].expect.tokens[1]: expected a token id, got -2"},
    {"/requests/1/expect/tokens", json::array(),
     "requests[1].expect.tokens: expected 1 to 16384 token ids, got 0"},
    {"/requests/1/expect", {{"tokens", {1, 2, 3}}, {"tokens_file", "f"}},
     "requests[1].expect.tokens_file: excludes tokens: write one of tokens, tokens_file"},
    {"/requests/1/expect/same_as", "z", "requests[1].expect.same_as: no request \"z\""},
    {"/requests/1/expect/same_as", "b",
     "requests[1].expect.same_as: a request always equals itself"},
  });
}

TEST_CASE("each mistake in a generator or the whole script names file, field and reason") {
  check_each({
    {"/generate/0/count", 0, "generate[0].count: expected 1 to 100000, got 0"},
    {"/generate/0/prompt_length/min", 3,
     "generate[0].prompt_length.min: expected at most max 2, got 3"},
    {"/generate/0/output_tokens/max", "2",
     "generate[0].output_tokens.max: expected 1 to 16384, got \"2\""},
    {"/generate/0/cancel_fraction", 2,
     "generate[0].cancel_fraction: expected a number from 0 to 1, got 2"},
    {"/generate/0/rate", 5, "generate[0].rate: unknown field; did you mean rate_per_s?"},
    {"/max_open", 0, "max_open: expected 1 to 1024, got 0"},
    {"/timeout_ms", 0, "timeout_ms: expected 1 to 3600000, got 0"},
    {"/expect/outcomes/complete", 1,
     "expect.outcomes.complete: unknown field; did you mean completed?"},
    {"/expect/trace_check", "yes", "expect.trace_check: expected true or false, got \"yes\""},
  });
}

TEST_CASE("missing fields of a script are named") {
  const auto without = [](const char* object, const char* name) {
    json file = good();
    file[json::json_pointer(object)].erase(name);
    return error_of(to_text(file));
  };
  CHECK(without("", "name") == "script.json: name: missing");
  CHECK(without("/requests/0", "id") == "script.json: requests[0].id: missing");
  CHECK(without("/requests/0", "output_tokens")
        == "script.json: requests[0].output_tokens: missing");
  CHECK(without("/requests/0", "prompt")
        == "script.json: requests[0]: expected one of prompt, prompt_tokens, prompt_length");
  CHECK(without("/generate/0", "prompt_length")
        == "script.json: generate[0].prompt_length.min: missing");
  CHECK(without("/generate/0/prompt_length", "max")
        == "script.json: generate[0].prompt_length.max: missing");
}
