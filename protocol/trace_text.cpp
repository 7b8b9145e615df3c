#include "protocol/trace_text.hpp"

#include <cstdio>

namespace baton::protocol {

namespace {

constexpr std::size_t shown_text_max = 60;
constexpr std::size_t shown_fields_max = 110;

std::string number_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || !found->is_number() ? "?" : found->dump();
}

bool has_all(const json& object, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (!object.contains(name))
      return false;
  return true;
}

/// The ids that name things everywhere, in the shortest form that tells them apart.
std::string object_text(const std::string& name, const json& value) {
  if (has_all(value, {"reservation", "source", "destination"})) {
    const json& reservation = value["reservation"];
    return "lane " + (reservation.is_object() ? number_in(reservation, "number") : "?") + ":"
           + number_in(value, "source") + "->" + number_in(value, "destination");
  }
  if (has_all(value, {"ordinal", "request"}))
    return "attempt " + number_in(value, "ordinal");
  if (has_all(value, {"owner", "number"}))
    return name + " " + number_in(value, "number");
  if (has_all(value, {"block", "gen"}))
    return "block " + number_in(value, "block") + " gen " + number_in(value, "gen");
  if (has_all(value, {"why", "text"}))
    return value["why"] == "none" ? ""
                                  : name + " " + value.value("why", "") + ": "
                                      + value.value("text", "").substr(0, shown_text_max);
  if (has_all(value, {"count"}) && value.size() == 1)
    return number_in(value, "count") == "0" ? "" : name + " x" + number_in(value, "count");
  if (name == "spec")
    return "prompt " + number_in(value, "prompt_tokens") + " output "
           + number_in(value, "output_tokens");
  if (name == "model" || name == "offered")
    return "";
  return salient_fields(value);
}

std::string field_text(const std::string& name, const json& value) {
  if (value.is_object())
    return object_text(name, value);
  if (value.is_array())
    return name + " x" + std::to_string(value.size());
  if (value.is_string())
    return value.get_ref<const std::string&>().empty()
             ? ""
             : name + " " + value.get_ref<const std::string&>().substr(0, shown_text_max);
  return value.is_null() ? "" : name + " " + value.dump();
}

std::string shortened(const std::string& fields) {
  return fields.size() <= shown_fields_max ? fields : fields.substr(0, shown_fields_max) + " ...";
}

} // namespace

std::string salient_fields(const json& event) {
  std::string text;
  if (!event.is_object())
    return text;
  for (const auto& [name, value] : event.items()) {
    const std::string one = field_text(name, value);
    if (!one.empty())
      text += (text.empty() ? "" : ", ") + one;
  }
  return text;
}

std::string ms_text(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(ns) / 1e6);
  return text;
}

std::string describe(const trace_record& record, const std::string& node, std::int64_t origin_ns) {
  std::string time = ms_text(record.begin_ns - origin_ns);
  time.insert(0, time.size() < 10 ? 10 - time.size() : 0, ' ');
  const std::string sender = record.header.sender.empty() ? "?" : record.header.sender;
  std::string text = time + " ms  " + sender + " -> " + node + ":" + record.actor + "  "
                     + record.message;
  const std::string fields = salient_fields(record.event);
  if (!fields.empty())
    text += " (" + shortened(fields) + ")";
  if (!record.machine.empty())
    text += "  " + record.before + (record.before == record.after ? "" : " -> " + record.after);
  return text;
}

} // namespace baton::protocol
