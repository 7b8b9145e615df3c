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
#include <tuple>

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

/// What a message is, as the effect that it would have been.
json form_of(const trace_record& said) {
  json form = said.event;
  form["type"] = said.message;
  return without_prompt(form);
}

/// What one actor has handled, and its machine's decision in the replay.
struct decision {
  json event;
  std::vector<json> effects;
  std::string who; ///< and what it handled, for people
};

struct replay {
  std::map<std::uint64_t, decision> decisions; ///< by the id of the message that was handled
  std::vector<std::string> differences;
};

replay replayed_all(const memory_trace& trace) {
  replay all;
  std::map<std::pair<std::uint32_t, std::string>, std::unique_ptr<replayed_actor>> actors;
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const trace_record& r = trace.records[i];
    if (r.machine.empty())
      continue;
    const std::string node = trace.all_sections[trace.section_of[i]].header.node.value;
    const std::string what = node + ":" + r.actor + " handles " + r.message;
    auto& actor = actors[{trace.section_of[i], r.actor}];
    if (!actor)
      actor = make(r.machine);
    const auto effects = actor->take(r);
    std::vector<std::string> names;
    for (const auto& effect : effects.value_or(std::vector<json>{}))
      names.push_back(effect.at("type").get<std::string>());
    if (!effects || names != r.effects)
      all.differences.push_back(what + " otherwise than its machine");
    decision taken{form_of(r), {}, what};
    for (const auto& effect : effects.value_or(std::vector<json>{}))
      taken.effects.push_back(without_prompt(effect));
    all.decisions[r.header.id] = std::move(taken);
  }
  return all;
}

/// Said to a transfer device, which passes them on to the lanes and feeds that it starts. It keeps
/// no record, so their causes are not those decisions.
bool is_passed_on(const std::string& word) {
  static const std::set<std::string> words = {"open_lane",  "stop_lane",     "ask_lane",
                                              "open_feed",  "withdraw_feed", "ask_feed"};
  return words.count(word) > 0;
}

/// How often the decision says that word to one receiver.
std::int64_t times_decided(const decision& by, const json& word) {
  if (word.at("type") == "phase_entered" && by.event == word)
    return 1; // a request passes it on to its client as it is
  return std::count_if(by.effects.begin(), by.effects.end(), [&](const json& effect) {
    return effect == word || follows(effect.at("type"), word.at("type"));
  });
}

} // namespace

std::vector<std::string> said_without_decision(const memory_trace& trace) {
  replay all = replayed_all(trace);
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::string>, std::vector<json>> heard;
  std::set<json> passed_on;
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const trace_record& r = trace.records[i];
    const json word = form_of(r);
    const auto decision = all.decisions.find(r.header.id);
    const auto cause = all.decisions.find(r.header.cause);
    bool right = !is_passed_on(r.message) || passed_on.count(word) > 0;
    if (cause != all.decisions.end()) {
      auto& words = heard[{r.header.cause, trace.section_of[i], r.actor}];
      words.push_back(word);
      right = std::count(words.begin(), words.end(), word) <= times_decided(cause->second, word);
    }
    if (!right)
      all.differences.push_back(r.actor + " handles " + r.message + ", which the machine of "
                                + r.header.sender + " has not decided, or not so often");
    if (decision != all.decisions.end())
      for (const auto& effect : decision->second.effects)
        if (is_passed_on(effect.at("type")))
          passed_on.insert(effect);
  }
  return std::move(all.differences);
}

std::vector<std::string> decided_without_saying(const memory_trace& trace) {
  std::set<std::string> words; // that somebody keeps a record of
  std::map<std::uint64_t, std::vector<json>> said; // by cause
  std::set<json> passed_on;
  for (const auto& r : trace.records) {
    const json word = form_of(r);
    words.insert(r.message);
    said[r.header.cause].push_back(word);
    if (is_passed_on(r.message))
      passed_on.insert(word);
  }
  words.erase("stop_lane"); // a lane that has ended cannot hear it: its device answers
  std::vector<std::string> sentences;
  for (const auto& [id, decision] : replayed_all(trace).decisions)
    for (const auto& effect : decision.effects) {
      const std::string type = effect.at("type");
      const auto& heard = said[id];
      if (words.count(type) > 0 && passed_on.count(effect) == 0
          && std::count(heard.begin(), heard.end(), effect) == 0)
        sentences.push_back(decision.who + ", and nobody gets " + type);
    }
  return sentences;
}

} // namespace baton::tests
