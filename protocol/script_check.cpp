#include "protocol/script_check.hpp"

namespace baton::protocol {

namespace {

std::string element(const char* list, std::size_t i, const char* member) {
  return std::string(list) + "[" + std::to_string(i) + "]." + member;
}

/// All names that an entry expands to.
std::vector<std::string> ids_of(const std::string& id, std::uint32_t count, bool always_numbered) {
  if (count == 1 && !always_numbered)
    return {id};
  std::vector<std::string> ids;
  for (std::uint32_t i = 0; i < count; ++i)
    ids.push_back(id + "-" + std::to_string(i));
  return ids;
}

/// A group that a request names for one side of its hand-off.
void check_side(const cluster_config& cluster, const group_name& name, group_role wrong_role,
                const std::string& path, json_reading& reading) {
  if (name.value.empty())
    return;
  std::vector<std::string> names;
  for (const group_config& g : cluster.groups)
    names.push_back(g.name.value);
  const group_config* group = find_group(cluster, name);
  const std::string near = nearest_name(name.value, names);
  if (group == nullptr)
    reading.refuse(path, "cluster \"" + cluster.name + "\" has no group \"" + name.value + "\""
                           + (near.empty() ? "" : "; did you mean " + near + "?"));
  else if (group->role == wrong_role)
    reading.refuse(path, "group \"" + name.value + "\" is a " + to_string(wrong_role) + " group");
}

} // namespace

void check_ids(const script& s, json_reading& reading) {
  if (expanded_count(s) > limits::script_requests_max)
    return reading.refuse("", "expected at most " + std::to_string(limits::script_requests_max)
                                + " requests, got " + std::to_string(expanded_count(s)));
  std::set<std::string> ids;
  const auto add = [&](const std::vector<std::string>& added, const std::string& path) {
    for (const std::string& id : added)
      if (!ids.insert(id).second)
        reading.refuse(path, "\"" + id + "\" is taken");
  };
  for (std::size_t i = 0; i < s.requests.size(); ++i)
    add(ids_of(s.requests[i].spec.external.value, s.requests[i].count, false),
        element("requests", i, "id"));
  for (std::size_t i = 0; i < s.generate.size(); ++i)
    add(ids_of(s.generate[i].id, s.generate[i].count, true), element("generate", i, "id"));
  for (std::size_t i = 0; i < s.requests.size(); ++i) {
    const std::string& other = s.requests[i].expect.same_as.value;
    const bool itself = s.requests[i].count == 1 && other == s.requests[i].spec.external.value;
    if (!other.empty() && (itself || ids.count(other) == 0))
      reading.refuse(element("requests", i, "expect.same_as"),
                     itself ? "a request always equals itself" : "no request \"" + other + "\"");
  }
}

failure check_script(const script& s, const cluster_config& cluster,
                     const std::string& file_name) {
  json_reading reading(file_name);
  for (std::size_t i = 0; i < s.requests.size(); ++i) {
    const request_spec& spec = s.requests[i].spec;
    check_side(cluster, spec.prefill_group, group_role::decode,
               element("requests", i, "group.prefill"), reading);
    check_side(cluster, spec.decode_group, group_role::prefill,
               element("requests", i, "group.decode"), reading);
    if (has_fault(spec) && !cluster.allow_faults)
      reading.refuse(element("requests", i, "fault"),
                     "cluster \"" + cluster.name + "\" does not allow faults");
  }
  return reading.error();
}

} // namespace baton::protocol
