#include "actors/trace_requests.hpp"

namespace baton::actors {

namespace {

using namespace protocol;

constexpr std::size_t prefix_characters_min = 4;

bool contains(std::string_view line, std::string_view text) {
  return line.find(text) != std::string_view::npos;
}

} // namespace

std::map<std::string, std::string> externals_by_id(const trace_files& files) {
  std::map<std::string, std::string> found;
  for (std::size_t i = 0; i < files.keys().size(); ++i) {
    const std::string_view line = files.line(i);
    if (!contains(line, "\"message\":\"open_request\"")
        && !contains(line, "\"message\":\"request_arrived\""))
      continue;
    const auto record = files.record(i);
    if (!record)
      continue;
    const json& event = record.value().event;
    if (event.contains("request") && event.contains("spec"))
      found[event["request"].get<std::string>()] = event["spec"].value("external", "");
  }
  return found;
}

outcome<std::vector<std::string>> find_requests(const trace_files& files,
                                                const std::string& wanted) {
  const auto all = externals_by_id(files);
  std::vector<std::string> by_name;
  std::vector<std::string> by_prefix;
  for (const auto& [id, external] : all) {
    if (external == wanted)
      by_name.push_back(id);
    if (wanted.size() >= prefix_characters_min && id.compare(0, wanted.size(), wanted) == 0)
      by_prefix.push_back(id);
  }
  if (!by_name.empty())
    return by_name;
  if (by_prefix.size() > 1)
    return failure{reason::bad_input, "'" + wanted + "' begins the id of "
                                        + std::to_string(by_prefix.size())
                                        + " requests: give more of it"};
  if (by_prefix.size() == 1)
    return by_prefix;
  return failure{reason::not_found,
                 "no request '" + wanted + "' among the " + std::to_string(all.size())
                   + " of this trace"
                   + (all.empty() ? "" : "; one of them is " + all.begin()->second)};
}

} // namespace baton::actors
