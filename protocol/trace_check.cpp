#include "protocol/trace_check.hpp"

#include "protocol/trace_line.hpp"
#include "protocol/trace_order.hpp"
#include "protocol/trace_replay.hpp"
#include "protocol/trace_text.hpp"

#include <algorithm>

namespace baton::protocol {

namespace {

constexpr std::size_t chain_records_max = 12;

class checker {
public:
  explicit checker(const trace_source& source)
    : source_(source), causes_(source.keys()), world_(source.sections()) {
    std::vector<std::uint32_t> clients;
    for (std::uint32_t s = 0; s < source.sections().size(); ++s)
      if (source.sections()[s].header.node.value == client_node)
        clients.push_back(s);
    if (clients.size() == 1)
      only_client_ = clients.front();
  }

  check_report run(trace_extent extent) {
    const causal_order order = order_records(source_.keys(), causes_);
    if (!order.records.empty())
      origin_ns_ = source_.keys()[order.records.front()].begin_ns;
    for (std::size_t i = 0; i < order.records.size(); ++i) {
      if (i + order.contradictions == order.records.size())
        verdicts_.add({"order", std::to_string(order.contradictions)
                                  + " messages were caused by what came after them",
                       {order.records[i]}, {}});
      look(order.records[i]);
    }
    if (extent == trace_extent::whole)
      look_at_end(world_, {source_, living_}, verdicts_);
    return report();
  }

private:
  void look(std::size_t index) {
    const auto read = source_.record(index);
    if (!read) {
      verdicts_.add({"unreadable", read.error().text, {index}, {}});
      return;
    }
    const trace_record& record = read.value();
    const trace_key& key = source_.keys()[index];
    replay(index, key, record);
    note_life(index, key, record);
    const auto fact = decode(record);
    if (!fact) {
      verdicts_.add({"unreadable", record.message + ": " + fact.error().text, {index}, {}});
      return;
    }
    const trace_section& section = source_.sections()[key.section];
    last_section_of_[section.header.node.value] = key.section;
    const trace_step step{index, record, key, section, fact.value(), sender_section(index, record)};
    look_at(world_, step, verdicts_);
    world_.apply(step);
  }

  /// The life that sent the message: where its cause was handled, else the sender's present one.
  /// Clients live beside each other under one name: where there are several, the cause alone tells.
  std::optional<std::uint32_t> sender_section(std::size_t index, const trace_record& record) const {
    if (const auto cause = causes_.cause_of(index))
      return source_.keys()[*cause].section;
    const std::string node = node_of_sender(record.header.sender);
    if (node == client_node)
      return only_client_;
    const auto it = last_section_of_.find(node);
    return it == last_section_of_.end() ? std::nullopt : std::optional(it->second);
  }

  void replay(std::size_t index, const trace_key& key, const trace_record& record) {
    const auto& gap = source_.sections()[key.section].first_gap;
    if (gap && index >= *gap)
      return; // the states of its actors are not known any more
    const auto difference = replay_.see(key.actor, record);
    if (!difference)
      return;
    verdicts_.add({"replay",
                   source_.sections()[key.section].header.node.value + ":" + record.actor
                     + " handled " + record.message + " (" + message_id_text(record.header.id)
                     + "): " + difference->what + ": the machine says " + difference->expected
                     + ", recorded is " + difference->recorded,
                   {index},
                   {}});
  }

  void note_life(std::size_t index, const trace_key& key, const trace_record& record) {
    actors_ = std::max<std::uint64_t>(actors_, std::uint64_t{key.actor} + 1);
    if (!is_mortal(record.machine))
      return;
    if (is_terminal(record.machine, record.after)) {
      living_.erase(key.actor);
      return;
    }
    auto& actor = living_[key.actor];
    if (actor.name.empty())
      actor = {key.section, record.machine, record.actor, "", 0};
    actor.state = record.after;
    actor.last_at = index;
  }

  check_report report() {
    check_report r;
    r.records = source_.keys().size();
    r.actors = actors_;
    r.requests = world_.requests.size();
    r.violations_count = verdicts_.count();
    for (const auto& v : verdicts_.kept())
      r.violations.push_back({v, chain_of(v)});
    for (const auto& s : source_.sections())
      note(s, r.notes);
    for (const auto& [actor, left] : living_)
      if (left.machine == "reservation" && left.state == "quarantined")
        r.notes.push_back(source_.sections()[left.section].header.node.value + ":" + left.name
                          + " stays quarantined: a lane's node was lost without stop evidence");
    return r;
  }

  static void note(const trace_section& s, std::vector<std::string>& notes) {
    if (s.lost > 0)
      notes.push_back(s.file + ": " + std::to_string(s.lost)
                      + " records were lost by its writer; replay stops there");
    if (s.end == section_end::cut)
      notes.push_back(s.file + ": life " + to_string(s.header.life).substr(0, 12)
                      + " was not closed (killed, or stopped with open requests); its end is not "
                        "judged");
  }

  /// The shown records, then what led to the last of them, back to the nearest shown one.
  std::vector<std::string> chain_of(const violation& v) const {
    if (v.shown.empty())
      return {};
    std::vector<std::size_t> path{v.shown.back()};
    const auto is_shown = [&](std::size_t i) {
      return std::find(v.shown.begin(), v.shown.end() - 1, i) != v.shown.end() - 1;
    };
    while (path.size() < chain_records_max && !is_shown(path.back())) {
      const auto cause = causes_.cause_of(path.back());
      if (!cause || std::find(path.begin(), path.end(), *cause) != path.end())
        break;
      path.push_back(*cause);
    }
    std::vector<std::string> lines;
    for (std::size_t i = 0; i + 1 < v.shown.size(); ++i)
      if (std::find(path.begin(), path.end(), v.shown[i]) == path.end())
        lines.push_back(line_of(v.shown[i]));
    for (auto it = path.rbegin(); it != path.rend(); ++it)
      lines.push_back(line_of(*it));
    return lines;
  }

  std::string line_of(std::size_t index) const {
    const auto record = source_.record(index);
    if (!record)
      return record.error().text;
    const auto& node = source_.sections()[source_.keys()[index].section].header.node;
    return describe(record.value(), node.value, origin_ns_) + "  ["
           + message_id_text(record.value().header.id) + "]";
  }

  const trace_source& source_;
  cause_index causes_;
  trace_world world_;
  trace_replay replay_;
  verdicts verdicts_;
  std::map<std::uint32_t, living_actor> living_;
  std::map<std::string, std::uint32_t> last_section_of_;
  std::optional<std::uint32_t> only_client_;
  std::uint64_t actors_ = 0;
  std::int64_t origin_ns_ = 0;
};

} // namespace

check_report check_trace(const trace_source& source, trace_extent extent) {
  return checker(source).run(extent);
}

std::string to_text(const found_violation& violation) {
  std::string text = violation.what.id + ": " + violation.what.sentence + "\n";
  if (!violation.what.blocks.empty()) {
    text += "  blocks";
    for (const auto& ref : violation.what.blocks)
      text += " " + std::to_string(ref.block.value) + "@" + std::to_string(ref.gen.value);
    text += " (block@generation)\n";
  }
  for (const auto& line : violation.chain)
    text += "  " + line + "\n";
  return text;
}

} // namespace baton::protocol
