#include "actors/trace_whole.hpp"

#include "actors/run_directory.hpp"
#include "protocol/trace_line.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace baton::actors {

namespace {

using namespace protocol;

/// These speak for a device or a process, and write no records of what they are told.
const std::set<std::string> unrecorded = {"transfer_device", "compute_device", "node_guard"};

struct sender_name {
  std::string node;
  std::string kind;
};

/// Of `"from":"P7.0:lane/..."` in a record's line.
sender_name sender_of(std::string_view line) {
  const std::string_view name = "\"from\":\"";
  const std::size_t begin = line.find(name);
  if (begin == std::string_view::npos)
    return {};
  const std::string_view rest = line.substr(begin + name.size());
  const std::string from(rest.substr(0, rest.find('"')));
  const std::size_t colon = from.find(':');
  if (colon == std::string::npos)
    return {};
  const std::string actor = from.substr(colon + 1);
  return {node_of_sender(from), actor.substr(0, actor.find('/'))};
}

/// Nodes of which every life's file is whole: what is not in it was never recorded.
std::set<std::string> whole_nodes(const trace_files& files) {
  std::set<std::string> whole;
  std::set<std::string> cut;
  for (const auto& s : files.sections())
    (s.end == section_end::cut || s.lost > 0 ? cut : whole).insert(s.header.node.value);
  for (const auto& node : cut)
    whole.erase(node);
  return whole;
}

void look_for_causes(const trace_files& files, completeness& found) {
  std::vector<std::uint64_t> ids;
  for (const auto& key : files.keys())
    ids.push_back(key.id);
  std::sort(ids.begin(), ids.end());
  std::set<std::string> present;
  for (const auto& s : files.sections())
    present.insert(s.header.node.value);
  const std::set<std::string> whole = whole_nodes(files);
  struct gap {
    std::uint64_t messages = 0;
    std::size_t first = 0;
  };
  std::map<std::string, gap> gaps;
  for (std::size_t i = 0; i < files.keys().size(); ++i) {
    const std::uint64_t cause = files.keys()[i].cause;
    if (cause == 0 || std::binary_search(ids.begin(), ids.end(), cause))
      continue;
    const sender_name sender = sender_of(files.line(i));
    const bool owes = whole.count(sender.node) != 0 || present.count(sender.node) == 0;
    if (owes && !sender.node.empty() && unrecorded.count(sender.kind) == 0)
      ++gaps.try_emplace(sender.node, gap{0, i}).first->second.messages;
  }
  for (const auto& [node, g] : gaps)
    found.missing.push_back("records of " + node + ": it sent " + std::to_string(g.messages)
                            + " messages that were brought about by messages of which it has no "
                              "record, the first: "
                            + std::string(files.line(g.first).substr(0, 120)) + "...");
}

void look_for_nodes(const cluster_config& cluster, const std::string& directory,
                    const trace_files& files, completeness& found) {
  const auto& all = files.sections();
  for (const auto& node : nodes(cluster))
    if (std::none_of(all.begin(), all.end(),
                     [&](const auto& s) { return s.header.node == node.name; }))
      found.missing.push_back(directory + " has no trace of " + node.name.value
                              + ", which cluster.json names");
  for (const auto& s : all)
    if (s.header.cluster != cluster.name)
      found.missing.push_back(s.file + " is of cluster \"" + s.header.cluster
                              + "\", cluster.json of \"" + cluster.name + "\"");
}

} // namespace

completeness look_for_whole(const std::string& directory, const trace_files& files) {
  completeness found{files.missing(), {}};
  for (const auto& s : files.sections())
    if (const std::string& node = s.header.node.value;
        s.file.rfind(node + ".", 0) != 0 && s.file.rfind(node + "-", 0) != 0)
      found.missing.push_back(s.file + " is the trace of " + node);
  for (const auto& s : files.sections())
    if (s.lost > 0)
      found.missing.push_back(std::to_string(s.lost) + " records of " + s.file
                              + ", lost by its writer: what is said of later ones may be wrong");
  if (files.keys().empty())
    found.missing.push_back("there is no record in any file of " + directory);
  look_for_causes(files, found);
  const auto cluster = read_cluster(directory + "/cluster.json");
  if (cluster)
    look_for_nodes(cluster.value(), directory, files, found);
  else
    found.note = "no cluster file tells which nodes' traces should be here: "
                 + cluster.error().text;
  return found;
}

} // namespace baton::actors
