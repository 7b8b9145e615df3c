#include "tests/protocol/conversation_trace.hpp"

#include "tests/protocol/hand_off_samples.hpp"

namespace baton::tests {

using namespace protocol;

namespace {

struct seat {
  std::string node;
  std::string machine;
  std::string actor;
};

/// Where the actor of a party sits, and its label there.
seat seat_of(const std::string& party) {
  const std::size_t space = party.find(' ');
  const std::string kind = party.substr(0, space);
  const std::string key = space == std::string::npos ? "1" : party.substr(space + 1);
  const auto place = [&](const std::string& node, const std::string& machine) -> seat {
    return {node, machine, machine + "/" + key};
  };
  const std::size_t colon = key.find(':');
  if (kind == "pool")
    return place(key + ".0", "pool");
  if (kind == "group")
    return place(key + ".0", "rank_group");
  if (kind == "reservation")
    return place("D3.0", "reservation");
  if (kind == "hold")
    return place("P7.0", "source_hold");
  if (kind == "lane")
    return place("D3." + key.substr(key.find(':', colon + 1) + 1), "lane");
  if (kind == "feed")
    return place("P7." + key.substr(colon + 1, 1), "feed");
  return place("router", kind);
}

template <class Event>
json fields_of(const Event& event) {
  return std::visit([](const auto& e) { return to_json(e); }, event);
}

} // namespace

json json_of(const request::event& e) { return fields_of(e); }
json json_of(const attempt::event& e) { return fields_of(e); }
json json_of(const pool::event& e) { return fields_of(e); }
json json_of(const reservation::event& e) { return fields_of(e); }
json json_of(const source_hold::event& e) { return fields_of(e); }
json json_of(const lane::event& e) { return fields_of(e); }
json json_of(const feed::event& e) { return fields_of(e); }
json json_of(const rank_group::event& e) { return fields_of(e); }
json json_of(const membership::event& e) { return fields_of(e); }

conversation_trace::conversation_trace() {
  const auto add = [&](const std::string& node, const incarnation& life) {
    trace_section s;
    s.file = node + ".trace.jsonl";
    s.header = {trace_version, {node}, life, "little", 0};
    s.end = section_end::closed;
    made_.all_sections.push_back(std::move(s));
  };
  add("router", {1, 1});
  add("client", {2, 1});
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    add("D3." + std::to_string(rank), {3, rank + 1});
    add("P7." + std::to_string(rank), {7, rank + 1}); // as sample_source names them
  }
}

std::uint32_t conversation_trace::section(const std::string& node) const {
  std::uint32_t i = 0;
  while (i + 1 < made_.all_sections.size() && made_.all_sections[i].header.node.value != node)
    ++i;
  return i;
}

std::function<void()> conversation_trace::stamped(const std::string& from,
                                                  std::function<void()> deliver) {
  message_header header;
  header.id = ++messages_;
  header.cause = handling_.cause;
  header.sender = handling_.sender.empty() ? "router:" + from : handling_.sender;
  return [this, header, deliver = std::move(deliver)] {
    arrived_ = header;
    deliver();
  };
}

trace_record conversation_trace::begin_at(const std::string& node, const std::string& actor,
                                          instant now) {
  trace_record r;
  r.header = arrived_;
  arrived_ = {};
  if (r.header.id == 0)
    r.header = {++messages_, handling_.cause,
                handling_.sender.empty() ? node + ":" + actor : handling_.sender, 0};
  r.actor = actor;
  r.begin_ns = now.ns + ++records_;
  r.end_ns = r.begin_ns;
  r.header.sent_ns = r.begin_ns;
  r.request = sample_attempt().request;
  r.attempt = 1;
  node_ = node;
  return r;
}

trace_record conversation_trace::begin(const std::string& party, instant now) {
  const seat s = seat_of(party);
  trace_record r = begin_at(s.node, s.actor, now);
  r.machine = s.machine;
  handling_ = {r.header.id, s.node + ":" + s.actor};
  return r;
}

void conversation_trace::handled(const std::string& party, step made, instant now) {
  trace_record r = begin(party, now);
  r.message = made.message;
  r.event = std::move(made.event);
  r.before = std::move(made.before);
  r.after = std::move(made.after);
  r.effects = std::move(made.effects);
  keep(std::move(r));
}

void conversation_trace::keep(trace_record r) {
  made_.records.push_back(std::move(r));
  made_.section_of.push_back(section(node_));
}

memory_trace conversation_trace::take(bool whole) {
  for (auto& s : made_.all_sections)
    if (s.end != cut && !whole)
      s.end = section_end::flushed;
  made_.index();
  return std::move(made_);
}

} // namespace baton::tests
