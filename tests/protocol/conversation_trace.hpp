// What the nodes of a conversation would have traced: a record for each handled message, and what
// the client and the compute devices heard. All nodes share one host, and its clock tells every two
// records apart.
#pragma once

#include "protocol/attempt.hpp"
#include "protocol/block_pool.hpp"
#include "protocol/feed.hpp"
#include "protocol/lane.hpp"
#include "protocol/membership.hpp"
#include "protocol/rank_group.hpp"
#include "protocol/request.hpp"
#include "protocol/reservation.hpp"
#include "protocol/source_hold.hpp"
#include "tests/protocol/memory_trace.hpp"

#include <functional>

namespace baton::tests {

template <class Effects>
std::vector<std::string> names_of(const Effects& effects) {
  std::vector<std::string> names;
  for (const auto& effect : effects)
    names.push_back(std::visit([](const auto& e) { return std::string(e.type); }, effect));
  return names;
}

/// The fields of a machine's event.
protocol::json json_of(const protocol::request::event&);
protocol::json json_of(const protocol::attempt::event&);
protocol::json json_of(const protocol::pool::event&);
protocol::json json_of(const protocol::reservation::event&);
protocol::json json_of(const protocol::source_hold::event&);
protocol::json json_of(const protocol::lane::event&);
protocol::json json_of(const protocol::feed::event&);
protocol::json json_of(const protocol::rank_group::event&);
protocol::json json_of(const protocol::membership::event&);

class conversation_trace {
public:
  /// Parties are named as a conversation names them: "reservation 3", "lane 3:0:1".
  conversation_trace();

  /// Of the message that is sent now: whose handling caused it, and who says it.
  std::function<void()> stamped(const std::string& from, std::function<void()> deliver);
  /// Whatever arrived before has been dealt with.
  void begins_step() { arrived_ = {}; }

  /// A party has handled a message; until `ends_handling` what is sent is caused by that.
  struct step {
    const char* message;
    protocol::json event;
    std::string before;
    std::string after;
    std::vector<std::string> effects;
  };
  void handled(const std::string& party, step made, protocol::instant now);
  void ends_handling() { handling_ = {}; }

  /// A message that no machine handles.
  template <class Message>
  void heard(const std::string& node, const std::string& actor, const Message& message,
             protocol::instant now) {
    protocol::trace_record r = begin_at(node, actor, now);
    r.message = Message::type;
    r.event = protocol::to_json(message);
    keep(std::move(r));
  }

  /// The node's process is gone: its file has no end.
  void cuts(const std::string& node) { made_.all_sections[section(node)].end = cut; }

  /// `whole`: the conversation has come to its end.
  memory_trace take(bool whole);

private:
  static constexpr auto cut = protocol::section_end::cut;
  struct who {
    std::uint64_t cause = 0;
    std::string sender;
  };
  protocol::trace_record begin(const std::string& party, protocol::instant now);
  protocol::trace_record begin_at(const std::string& node, const std::string& actor,
                                  protocol::instant now);
  void keep(protocol::trace_record r);
  std::uint32_t section(const std::string& node) const;

  memory_trace made_;
  std::string node_; ///< of the record that has begun
  std::uint64_t messages_ = 0;
  std::int64_t records_ = 0;
  protocol::message_header arrived_;
  who handling_;
};

} // namespace baton::tests
