#include "protocol/json_codec.hpp"

#include "protocol/limits.hpp"

#include <cmath>
#include <set>

namespace baton::protocol {

namespace {

const json_error no_error;

/// Short enough for a message to a person; long texts may be private.
constexpr std::size_t shown_characters_max = 40;

/// {"count": N} with N up to max, so that a malformed trace cannot ask for endless memory.
json_error read_count(const json& from, std::uint32_t max, std::uint32_t& count) {
  if (!from.is_object() || !from.contains("count"))
    return expected("{\"count\": N}", from);
  json number;
  json_error error = read_integer(from["count"], 0, max, number);
  if (error)
    error->under("count");
  else
    count = number.get<std::uint32_t>();
  return error;
}

} // namespace

std::string describe(const json_problem& problem) {
  return problem.path.empty() ? problem.why : problem.path + ": " + problem.why;
}

json_problem expected(const std::string& what, const json& got) {
  std::string shown = got.type_name();
  if (got.is_number() || got.is_boolean() || got.is_string())
    shown = to_text(got);
  if (shown.size() > shown_characters_max)
    shown = got.is_string() ? "a long string" : "a long number";
  return {"", "expected " + what + ", got " + shown};
}

json_error json_form<bool>::read(const json& from, bool& value) {
  if (!from.is_boolean())
    return expected("true or false", from);
  value = from.get<bool>();
  return no_error;
}

json_error json_form<std::string>::read(const json& from, std::string& value) {
  if (!from.is_string())
    return expected("a string", from);
  value = from.get_ref<const std::string&>();
  return no_error;
}

json_error read_integer(const json& from, std::int64_t min, std::uint64_t max, json& value) {
  // The parser keeps what is not negative as unsigned; what a program made may be signed.
  const bool negative = from.is_number_integer() && !from.is_number_unsigned()
                        && from.get<std::int64_t>() < 0;
  bool fits = from.is_number_integer();
  if (negative)
    fits = fits && from.get<std::int64_t>() >= min;
  else if (fits)
    fits = from.get<std::uint64_t>() <= max
           && (min <= 0 || from.get<std::uint64_t>() >= static_cast<std::uint64_t>(min));
  if (!fits)
    return expected(std::to_string(min) + " to " + std::to_string(max), from);
  value = from;
  return no_error;
}

json_error json_form<reason>::read(const json& from, reason& value) {
  if (!from.is_string())
    return expected("the name of a reason", from);
  const std::string& name = from.get_ref<const std::string&>();
  for (int i = 0; i <= static_cast<int>(reason::internal); ++i)
    if (name == to_string(static_cast<reason>(i))) {
      value = static_cast<reason>(i);
      return no_error;
    }
  return expected("the name of a reason", from);
}

json json_form<real>::write(const real& value) {
  if (!std::isfinite(value.get()))
    return {{"bits", value.bits}};
  return value.get();
}

json_error json_form<real>::read(const json& from, real& value) {
  if (from.is_object() && from.contains("bits"))
    return json_form<std::uint32_t>::read(from["bits"], value.bits);
  if (!from.is_number() || !std::isfinite(static_cast<float>(from.get<double>())))
    return expected("a number within float's range", from);
  value = real::of(static_cast<float>(from.get<double>()));
  return no_error;
}

json_error json_form<token_list>::read(const json& from, token_list& value) {
  std::uint32_t count = 0;
  json_error error = read_count(from, limits::prompt_tokens_max + limits::output_tokens_max, count);
  if (!error)
    value.ids.assign(count, 0);
  return error;
}

json_error json_form<packed_floats>::read(const json& from, packed_floats& value) {
  std::uint32_t count = 0;
  json_error error = read_count(from, limits::packed_floats_max, count);
  if (!error)
    value.values.assign(count, 0.0F);
  return error;
}

json_error json_form<token_id>::read(const json& from, token_id& value) {
  if (!from.is_null())
    return expected("null", from);
  value.value = 0;
  return no_error;
}

json_error read_hex(const json& from, std::uint64_t& high, std::uint64_t& low) {
  if (!from.is_string() || !from_hex(from.get_ref<const std::string&>(), high, low))
    return expected("32 hexadecimal digits", from);
  return no_error;
}

std::string to_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

outcome<json> parse_text(const std::string& text) {
  std::vector<std::set<std::string>> names_by_depth;
  std::string repeated;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == json::parse_event_t::object_start) {
      names_by_depth.resize(level + 2);
      names_by_depth[level + 1].clear();
    } else if (event == json::parse_event_t::key) {
      const std::string& name = parsed.get_ref<const std::string&>();
      if (!names_by_depth[level].insert(name).second && repeated.empty())
        repeated = name;
    }
    return true;
  };
  try {
    json value = json::parse(text, watch);
    if (!repeated.empty())
      return failure{reason::bad_input, "field \"" + repeated + "\" is written twice"};
    return value;
  } catch (const json::exception& e) {
    const std::string what = e.what();
    const std::size_t after_tag = what.find("] "); // "[json.exception.parse_error.101] ..."
    return failure{reason::bad_input,
                   "not JSON: " + (after_tag == std::string::npos ? what
                                                                  : what.substr(after_tag + 2))};
  }
}

} // namespace baton::protocol
