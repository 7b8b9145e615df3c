#include "tests/actors/deterministic_said.hpp"

#include "protocol/attempt.hpp"
#include "protocol/block_pool.hpp"
#include "protocol/feed.hpp"
#include "protocol/lane.hpp"
#include "protocol/membership.hpp"
#include "protocol/rank_group.hpp"
#include "protocol/request.hpp"
#include "protocol/reservation.hpp"
#include "protocol/source_hold.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

namespace baton::tests {

using namespace protocol;

namespace {

/// One actor's machine, stepped again with what the actor recorded.
class replayed_actor {
public:
  virtual ~replayed_actor() = default;
  /// The step's effects with their types; nothing when the event does not read.
  virtual std::optional<std::vector<json>> take(const trace_record& record) = 0;
};

template <class State, class Event, auto Step>
class replayed final : public replayed_actor {
public:
  std::optional<std::vector<json>> take(const trace_record& record) override {
    json form = record.event;
    form["type"] = record.message;
    const auto event = from_json<Event>(form);
    if (!event)
      return {};
    auto result = Step(std::move(state_), event.value(), instant{record.begin_ns});
    state_ = std::move(result.state);
    std::vector<json> effects;
    for (const auto& effect : result.effects)
      effects.push_back(to_json(effect));
    return effects;
  }

private:
  State state_;
};

template <class State, class Event, auto Step>
std::unique_ptr<replayed_actor> made() {
  return std::make_unique<replayed<State, Event, Step>>();
}

std::unique_ptr<replayed_actor> make(const std::string& machine) {
  using maker = std::unique_ptr<replayed_actor> (*)();
  static const std::map<std::string, maker> makers = {
    {"membership", made<membership::state, membership::event, &membership::step>},
    {"request", made<request::state, request::event, &request::step>},
    {"attempt", made<attempt::state, attempt::event, &attempt::step>},
    {"pool", made<pool::state, pool::event, &pool::step>},
    {"reservation", made<reservation::state, reservation::event, &reservation::step>},
    {"source_hold", made<source_hold::state, source_hold::event, &source_hold::step>},
    {"lane", made<lane::state, lane::event, &lane::step>},
    {"feed", made<feed::state, feed::event, &feed::step>},
    {"rank_group", made<rank_group::state, rank_group::event, &rank_group::step>},
  };
  return makers.at(machine)();
}

/// What an actor may make of an effect besides saying it.
bool follows(const std::string& effect, const std::string& message) {
  static const std::set<std::pair<std::string, std::string>> known = {
    {"request_admitted", "open_request"},  {"request_admitted", "request_accepted"},
    {"request_refused", "request_ended"},  {"open_reservation", "begin_reservation"},
    {"open_hold", "begin_hold"},           {"end_actor", "request_gone"},
    {"arm_timer", "deadline_reached"},     {"arm_timer", "wait_expired"},
    {"arm_timer", "retention_expired"},    {"arm_timer", "query_due"},
    {"arm_frames", "frames_overdue"},      {"arm_answer", "answer_overdue"},
    {"arm_lease", "lease_expired"},        {"arm_hold", "hold_ended"},
    {"arm_evidence", "evidence_due"},      {"arm_stall", "stall_ended"},
  };
  return known.count({effect, message}) > 0;
}

/// A prompt goes beside the machines: the actor adds it to what they say.
json without_prompt(json form) {
  form.erase("prompt");
  return form;
}

struct decision {
  json event; ///< what was handled: a request passes phases on to its client
  std::vector<json> effects;
};

bool decided(const decision& by, const trace_record& said) {
  json form = said.event;
  form["type"] = said.message;
  form = without_prompt(form);
  return by.event == form
         || std::any_of(by.effects.begin(), by.effects.end(), [&](const json& effect) {
              return without_prompt(effect) == form
                     || follows(effect.at("type").get<std::string>(), said.message);
            });
}

} // namespace

std::vector<std::string> said_without_decision(const memory_trace& trace) {
  std::vector<std::string> sentences;
  std::map<std::pair<std::uint32_t, std::string>, std::unique_ptr<replayed_actor>> actors;
  std::map<std::uint64_t, decision> decisions; // by the id of the message that was handled
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const trace_record& r = trace.records[i];
    const std::string node = trace.all_sections[trace.section_of[i]].header.node.value;
    const std::string what = node + ":" + r.actor + " handles " + r.message;
    const auto cause = decisions.find(r.header.cause);
    if (cause != decisions.end() && !decided(cause->second, r))
      sentences.push_back(what + ", which " + r.header.sender + "'s machine has not decided");
    if (r.machine.empty())
      continue;
    auto& actor = actors[{trace.section_of[i], r.actor}];
    if (!actor)
      actor = make(r.machine);
    const auto effects = actor->take(r);
    std::vector<std::string> names;
    for (const auto& effect : effects.value_or(std::vector<json>{}))
      names.push_back(effect.at("type").get<std::string>());
    if (!effects || names != r.effects)
      sentences.push_back(what + " otherwise than its machine");
    json form = r.event;
    form["type"] = r.message;
    decisions[r.header.id] = {without_prompt(form), effects.value_or(std::vector<json>{})};
  }
  return sentences;
}

} // namespace baton::tests
