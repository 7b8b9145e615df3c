// The schema files under deploy/schema/ say the same as the parsers.
#include "protocol/cluster_words.hpp"
#include "protocol/json_codec.hpp"
#include "protocol/script.hpp"
#include "protocol/scripted_request_parse.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

using namespace baton::protocol;

namespace {

json schema_of(const std::string& name) {
  std::ifstream file(std::string(BATON_DEPLOY) + "/schema/" + name);
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  const auto parsed = parse_text(text.str());
  REQUIRE_MESSAGE(parsed, parsed.error().text);
  return parsed.value();
}

/// What is known of each property of a schema, by path: "groups[].ranks".
using properties = std::map<std::string, json>;

void collect(const json& whole, const json& part, const std::string& path, properties& found) {
  if (part.contains("$ref")) {
    const std::string target = part["$ref"].get<std::string>().substr(1);
    collect(whole, whole.at(json::json_pointer(target)), path, found);
  }
  for (const json& alternative : part.value("oneOf", json::array()))
    collect(whole, alternative, path, found);
  if (part.contains("items"))
    collect(whole, part["items"], path + "[]", found);
  if (!part.contains("properties"))
    return;
  CHECK_MESSAGE(part.value("additionalProperties", json()) == false, path);
  for (const auto& [name, value] : part["properties"].items()) {
    const std::string inner = path.empty() ? name : path + "." + name;
    found[inner].update(value);
    collect(whole, value, inner, found);
  }
}

properties properties_of(const json& schema) {
  properties found;
  collect(schema, schema, "", found);
  return found;
}

std::set<std::string> names_of(const properties& all) {
  std::set<std::string> names;
  for (const auto& [name, value] : all)
    names.insert(name);
  return names;
}

/// Elements of a that are not in b, for a readable failure.
std::string beyond(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::string text;
  for (const std::string& name : a)
    if (b.count(name) == 0)
      text += name + " ";
  return text;
}

template <class E, std::size_t N>
json names_in(const json_word<E> (&words)[N]) {
  json names = json::array();
  for (const auto& word : words)
    names.push_back(word.name);
  return names;
}

} // namespace

TEST_CASE("the cluster schema has the parser's fields") {
  std::set<std::string> known;
  for (const std::string executor :
       {R"({"kind": "llama", "model": "m"})", R"({"kind": "synthetic"})"}) {
    std::set<std::string> fields;
    const auto config = parse_cluster(R"({"name": "n", "path_costs": [{"path": "pull"}],
                                        "tenants": [{"name": "t"}], "executor": )"
                                        + executor + R"(, "groups": [{"name": "A", "role": "mixed",
                                        "pool_bytes": "1GiB", "executor": )" + executor + "}]}",
                                      "cluster.json", &fields);
    REQUIRE_MESSAGE(config, config.error().text);
    known.merge(fields);
  }
  const properties schema = properties_of(schema_of("cluster.schema.json"));
  CHECK(beyond(names_of(schema), known) == "");
  CHECK(beyond(known, names_of(schema)) == "");
  CHECK(known.size() > 60);
}

TEST_CASE("the script schema has the parser's fields") {
  std::set<std::string> known;
  const auto s = parse_script(R"({"name": "s",
    "requests": [{"id": "a", "prompt": "p", "output_tokens": 1, "cancel": {"after_ms": 1}}],
    "generate": [{"id": "g", "count": 1, "prompt_length": {"min": 1, "max": 1},
                  "output_tokens": {"min": 1, "max": 1}}]})",
                              "script.json", &known);
  REQUIRE_MESSAGE(s, s.error().text);
  const properties schema = properties_of(schema_of("script.schema.json"));
  CHECK(beyond(names_of(schema), known) == "");
  CHECK(beyond(known, names_of(schema)) == "");
  CHECK(known.size() > 60);
}

TEST_CASE("the schemas have the parsers' words") {
  properties cluster = properties_of(schema_of("cluster.schema.json"));
  CHECK(cluster["path"]["enum"] == names_in(asked_path_words));
  CHECK(cluster["prefer"]["enum"] == names_in(preferred_path_words));
  CHECK(cluster["transport"]["enum"] == names_in(transport_words));
  CHECK(cluster["path_costs[].path"]["enum"] == names_in(path_words));
  CHECK(cluster["integrity"]["enum"] == names_in(integrity_words));
  CHECK(cluster["kv.dtype"]["enum"] == names_in(dtype_words));
  CHECK(cluster["groups[].role"]["enum"] == names_in(role_words));
  properties script = properties_of(schema_of("script.schema.json"));
  CHECK(script["requests[].expect.outcome"]["enum"] == names_in(outcome_words));
  json reasons = json::array();
  for (int i = 0; i <= static_cast<int>(reason::internal); ++i)
    reasons.push_back(to_string(static_cast<reason>(i)));
  CHECK(script["requests[].expect.reason"]["enum"] == reasons);
}

TEST_CASE("the schema's defaults are the parser's") {
  const auto config = parse_cluster(R"({"name": "n", "executor": {"kind": "synthetic"},
    "groups": [{"name": "A", "role": "mixed", "pool_blocks": 8}]})",
                                    "cluster.json");
  REQUIRE(config);
  const json written = parse_text(resolved(config.value())).value();
  int compared = 0;
  for (const auto& [path, property] : properties_of(schema_of("cluster.schema.json"))) {
    if (!property.contains("default") || property["default"].is_structured())
      continue;
    std::string pointer = "/" + path;
    for (std::size_t at; (at = pointer.find("[].")) != std::string::npos;)
      pointer.replace(at, 3, "/0/");
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const json::json_pointer where(pointer);
    if (!written.contains(where))
      continue; // of the other kind of executor
    CAPTURE(path);
    // The schema writes sizes as people do, the resolved form in bytes.
    const json& value = property["default"];
    const bool is_size = path.find("_bytes") != std::string::npos && value.is_string();
    const json mib = is_size ? json(std::stoll(value.get<std::string>()) << 20) : json();
    CHECK(written.at(where) == (is_size ? mib : value));
    ++compared;
  }
  CHECK(compared > 35);
}
