#include "actors/client_options.hpp"

#include "actors/run_directory.hpp"
#include "protocol/json_codec.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <random>

namespace baton::actors {

using namespace protocol;

namespace {

const char* const examples = R"(
Examples:
  baton run --prompt "In the beginning" --output-tokens 40
  baton run --prompt "And he said" --temperature 0.8 --seed 7
  baton run deploy/scenarios/SCENARIO.json --json report.json
  baton run SCRIPT.json --dir run --stream --drain

Exit codes: 0 all went as expected, 1 an expectation failed, 2 usage, a file, or no cluster,
            3 the script timed out, 130 interrupted.)";

void add_options(CLI::App& app, run_options& o, typed_request& typed) {
  app.add_option("script", o.script_path, "script file (see deploy/schema/script.schema.json)");
  app.add_option("--dir", o.dir, "run directory of `baton up`")->capture_default_str();
  app.add_option("--prompt", typed.prompt, "one request with this text, instead of a script");
  app.add_option("--output-tokens", typed.output_tokens, "with --prompt: at most so many tokens")
    ->capture_default_str()
    ->check(CLI::Range(1U, limits::output_tokens_max));
  app.add_option("--temperature", typed.temperature, "with --prompt: 0 takes the likeliest token")
    ->capture_default_str()
    ->check(CLI::Range(0.0F, 100.0F));
  app.add_option("--seed", typed.seed, "with --prompt: of every draw")->capture_default_str();
  app.add_flag("--stream", o.stream, "write answers to stdout as they come");
  app.add_option("--json", o.json_path, "write the whole run as JSON to this file");
  app.add_option("--logits", o.logits_path, "write one request's float32 logits to this file");
  app.add_option("--logits-of", o.logits_of, "whose (the first request that records them)");
  app.add_flag("--drain", o.drain, "then wait until every pool is free again, and require it");
  app.add_option("--timeout-ms", o.timeout_ms, "bound of the run (the script's, or 120000)")
    ->check(CLI::Range(std::int64_t{1}, limits::deadline_ms_max));
  app.footer(examples);
}

/// Two people may type at once: the name of a typed request is drawn.
external_id drawn_name() {
  char name[16];
  std::snprintf(name, sizeof name, "prompt-%06x", std::random_device{}() & 0xFFFFFFU);
  return {name};
}

script script_of_typed(const typed_request& typed, bool record_logits) {
  scripted_request request;
  request.spec.external = drawn_name();
  request.spec.tenant = {"default"};
  request.spec.output_tokens = typed.output_tokens;
  request.spec.sampling.temperature = real::of(typed.temperature);
  request.spec.sampling.top_p = real::of(1.0F);
  request.spec.sampling.seed = typed.seed;
  request.spec.queue_ms = limits::queue_ms_default;
  request.spec.record_logits = record_logits;
  request.prompt = prompt_text{typed.prompt};
  request.batch = request.spec.external.value;
  request.expect.outcome = outcome_kind::completed;
  script s;
  s.name = "prompt";
  s.max_open = 1;
  s.requests.push_back(std::move(request));
  return s;
}

} // namespace

parsed_options parse_run_options(int argc, const char* const* argv) {
  run_options options;
  typed_request typed;
  CLI::App app{"Plays a script against a running cluster, or asks for one prompt.", "baton run"};
  add_options(app, options, typed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return {{}, app.exit(e) == 0 ? 0 : 2};
  }
  const bool has_prompt = app.count("--prompt") > 0;
  if (has_prompt == !options.script_path.empty()) {
    std::cerr << "baton run: give either a script file or --prompt TEXT; see baton run --help\n";
    return {{}, 2};
  }
  for (const char* name : {"--output-tokens", "--temperature", "--seed"})
    if (!has_prompt && app.count(name) > 0) {
      std::cerr << "baton run: " << name << " goes with --prompt; a script says its own\n";
      return {{}, 2};
    }
  if (has_prompt && typed.prompt.empty()) {
    std::cerr << "baton run: --prompt: the text is empty\n";
    return {{}, 2};
  }
  if (has_prompt)
    options.typed = std::move(typed);
  return {std::move(options), 0};
}

outcome<script> script_of(const run_options& options) {
  outcome<script> result = failure{};
  if (options.typed) {
    result = script_of_typed(*options.typed, !options.logits_path.empty());
  } else {
    auto text = read_file(options.script_path);
    if (!text)
      return text.error();
    result = parse_script(text.value(), options.script_path);
  }
  if (result && options.timeout_ms > 0)
    result.value().timeout_ms = options.timeout_ms;
  if (result && options.drain)
    result.value().expect.free_equals_capacity = true;
  return result;
}

outcome<external_id> logits_request(const run_options& options, const script& script) {
  if (options.logits_path.empty())
    return external_id{};
  for (const auto& request : expand(script)) {
    const bool named = request.spec.external.value == options.logits_of;
    if (named && !request.spec.record_logits)
      return failure{reason::bad_input, "--logits-of: request \"" + options.logits_of
                                          + "\" does not say \"record_logits\": true"};
    if (named || (options.logits_of.empty() && request.spec.record_logits))
      return request.spec.external;
  }
  if (options.logits_of.empty())
    return failure{reason::bad_input,
                   "--logits: no request of the script says \"record_logits\": true"};
  return failure{reason::bad_input,
                 "--logits-of: the script has no request \"" + options.logits_of + "\""};
}

} // namespace baton::actors
