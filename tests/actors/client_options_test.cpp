#include "actors/client_options.hpp"
#include "tests/actors/client_support.hpp"

using namespace client_support;

namespace {

actors::parsed_options parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "run");
  return actors::parse_run_options(static_cast<int>(arguments.size()), arguments.data());
}

} // namespace

TEST_CASE("a script and its options are read") {
  const auto p = parse({"s.json", "--dir", "d", "--json", "j", "--drain", "--timeout-ms", "9"});
  REQUIRE(p.options);
  CHECK(p.options->script_path == "s.json");
  CHECK(p.options->dir == "d");
  CHECK(p.options->drain);
  CHECK(p.options->timeout_ms == 9);
  CHECK_FALSE(p.options->typed);
}

TEST_CASE("help is no mistake, and mistakes have exit code 2") {
  CHECK(parse({"--help"}).exit_code == 0);
  CHECK_FALSE(parse({"--help"}).options);
  const std::vector<std::vector<const char*>> mistakes{
    {},
    {"--no-such-option"},
    {"s.json", "--prompt", "x"},
    {"s.json", "--seed", "3"},
    {"--prompt", ""},
    {"--prompt", "x", "--output-tokens", "0"},
    {"--prompt", "x", "--temperature", "-1"}};
  for (const auto& arguments : mistakes) {
    const auto p = parse(arguments);
    CHECK_FALSE(p.options);
    CHECK(p.exit_code == 2);
  }
}

TEST_CASE("a typed request is a script of one that must complete") {
  const auto p = parse({"--prompt", "In the", "--output-tokens", "5", "--temperature", "0.5",
                        "--seed", "7", "--logits", "l"});
  REQUIRE(p.options);
  const auto s = actors::script_of(*p.options);
  REQUIRE(s);
  REQUIRE(s.value().requests.size() == 1);
  const auto& r = s.value().requests[0];
  CHECK(std::get<prompt_text>(r.prompt).text == "In the");
  CHECK(r.spec.output_tokens == 5);
  CHECK(r.spec.sampling.seed == 7);
  CHECK(r.spec.sampling.temperature == real::of(0.5F));
  CHECK(r.spec.queue_ms == limits::queue_ms_default);
  CHECK(r.expect.outcome == outcome_kind::completed);
  CHECK(actors::logits_request(*p.options, s.value()).value() == r.spec.external);
}

TEST_CASE("logits are those of the request that records them, or the mistake is named") {
  const auto s = requests(request("a") + "," + request("b", R"(, "record_logits": true)"));
  actors::run_options options;
  CHECK(actors::logits_request(options, s).value() == external_id{});
  options.logits_path = "l";
  CHECK(actors::logits_request(options, s).value() == external_id{"b"});
  CHECK_FALSE(actors::logits_request(options, requests(request("a"))));
  options.logits_of = "a";
  CHECK(actors::logits_request(options, s).error().text
        == "--logits-of: request \"a\" does not say \"record_logits\": true");
  options.logits_of = "z";
  CHECK(actors::logits_request(options, s).error().text
        == "--logits-of: the script has no request \"z\"");
}

TEST_CASE("a script that cannot be read is named") {
  actors::run_options options;
  options.script_path = "no/such/script.json";
  CHECK(actors::script_of(options).error().text.find("no/such/script.json: ") == 0);
}
