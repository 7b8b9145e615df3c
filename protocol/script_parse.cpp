// script.json to script: one function per object of the file.
#include "protocol/json_codec.hpp"
#include "protocol/scripted_request_parse.hpp"
#include "protocol/script_check.hpp"

namespace baton::protocol {

namespace {

token_range read_range(json_object from, std::uint32_t max) {
  token_range range;
  range.min = from.number<std::uint32_t>("min", {1, max});
  range.max = from.number<std::uint32_t>("max", {1, max});
  if (range.min > range.max)
    from.refuse("min", "expected at most max " + std::to_string(range.max) + ", got "
                         + std::to_string(range.min));
  from.finish();
  return range;
}

request_generator read_generator(json_object& from) {
  request_generator g;
  g.id = from.name("id");
  g.count = from.number<std::uint32_t>("count", {1, limits::script_requests_max});
  g.seed = from.value<std::uint64_t>("seed", g.seed);
  g.prompt_length = read_range(from.object("prompt_length"), limits::prompt_tokens_max);
  g.output_tokens = read_range(from.object("output_tokens"), limits::output_tokens_max);
  g.rate_per_s = from.number<std::uint32_t>("rate_per_s", {0, 1'000'000}, g.rate_per_s);
  g.max_open = from.number<std::uint32_t>("max_open", {1, limits::requests_open_max}, g.max_open);
  g.cancel_fraction = from.fraction("cancel_fraction", 0.0, 1.0, 0.0);
  g.tenant = {from.name("tenant", "default")};
  return g;
}

script_expectation read_expectation(json_object from) {
  script_expectation e;
  e.free_equals_capacity = from.value("free_equals_capacity", false);
  e.trace_check = from.value("trace_check", false);
  constexpr integer_range counts{0, limits::script_requests_max};
  const auto refused = from.number<std::uint32_t>("refused_count", counts, 0);
  if (from.has("refused_count"))
    e.refused_count = refused;
  json_object outcomes = from.object("outcomes");
  for (const auto& word : outcome_words) {
    const auto count = outcomes.number<std::uint32_t>(word.name, counts, 0);
    if (outcomes.has(word.name))
      e.outcomes.emplace_back(word.value, count);
  }
  outcomes.finish();
  from.finish();
  return e;
}

script read_script(json_object& from) {
  script s;
  s.name = from.name("name");
  s.about = from.text("about", 4096, "");
  from.each("requests", limits::script_requests_max,
            [&](json_object& request) { s.requests.push_back(read_request(request)); });
  from.each("generate", limits::script_requests_max,
            [&](json_object& generator) { s.generate.push_back(read_generator(generator)); });
  s.max_open = from.number<std::uint32_t>("max_open", {1, limits::requests_open_max}, s.max_open);
  s.timeout_ms = from.integer("timeout_ms", {1, limits::deadline_ms_max}, s.timeout_ms);
  s.expect = read_expectation(from.object("expect"));
  from.finish();
  if (s.requests.empty() && s.generate.empty())
    from.refuse("requests", "expected at least one request, here or in generate");
  return s;
}

} // namespace

outcome<script> parse_script(const std::string& text, const std::string& file_name,
                             std::set<std::string>* known_fields) {
  json_reading reading(file_name, known_fields);
  const json file = reading.parse(text, limits::script_file_bytes_max);
  if (reading.refused())
    return reading.error();
  json_object whole(reading, file, "");
  script s = read_script(whole);
  if (!reading.refused())
    check_ids(s, reading);
  if (reading.refused())
    return reading.error();
  return s;
}

} // namespace baton::protocol
