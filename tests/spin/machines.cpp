#include "tests/spin/machines.hpp"

#include "protocol/assert.hpp"
#include "protocol/transfer_manifest.hpp"
#include "tests/protocol/hand_off_samples.hpp"

#include <algorithm>

namespace baton::tests::spin {

using namespace protocol;

namespace {

constexpr std::uint32_t pool_blocks = 2;
constexpr std::uint32_t ranks = 2;
const failure some_reason{reason::cancelled, "the model's step"};
const std::string agreed;

/// Without a final hidden state, whose size is 0 here, a lane's pieces are its blocks.
model_identity model_without_resume() {
  model_identity model = sample_model();
  model.hidden = 0;
  return model;
}

bool has(const std::vector<std::string>& said, const char* type) {
  return std::find(said.begin(), said.end(), type) != said.end();
}

template <class Effect>
std::string type_of(const Effect& effect) {
  return std::visit([](const auto& e) { return std::decay_t<decltype(e)>::type; }, effect);
}

std::string unless(bool holds, const std::string& otherwise) { return holds ? agreed : otherwise; }

} // namespace

std::string machines::take(const model_step& step) {
  const replay_assertions throwing;
  try {
    if (answer why = act(step); !why.empty())
      return why;
  } catch (const assertion_broken& broken) {
    return "assertion: " + broken.what;
  }
  const auto ours = show();
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (ours[i] != step.state.at(i))
      return state_words()[i] + ": " + step.state[i] + " in the model, " + ours[i] + " here";
  return agreed;
}

std::string machines::act(const model_step& step) {
  static const std::set<std::string> of_request{"need", "granted", "reserve_refused", "asked_again",
                                                "gave_up"};
  static const std::set<std::string> of_lane{
    "open", "open_again", "admitted", "admitted_late", "receive_posted", "landed", "landed_late",
    "landed_again", "receive_failed", "receive_failed_unheard", "offer_late", "stop", "stop_again",
    "stop_unopened", "stopped"};
  if (of_request.count(step.what) > 0)
    return act_on_request(step.what, step.who);
  constexpr std::uint32_t lanes = reservations * lanes_each;
  if (step.what.rfind("heard_", 0) == 0)
    return hear_of_lane(step.what, step.who);
  if (of_lane.count(step.what) > 0)
    return act_on_lane(step.what, step.who % lanes, step.who / lanes);
  if (step.who >= reservations_.size())
    return "there is no such reservation";
  return act_on_reservation(step.what, step.who);
}

// ---- request and pool

std::string machines::act_on_request(const std::string& what, std::uint32_t who) {
  if (what == "need")
    return begin(who);
  if (what == "gave_up")
    return give_up(who);
  return reserve(what, who);
}

std::string machines::begin(std::uint32_t blocks) {
  blocks_ = blocks;
  pool_ = pool::step({}, sample_pool("D3", pool_blocks, ranks), at_ms(0)).state;
  const open_request opened{sample_attempt().request, ask(0).spec, {1}};
  request_ = request::step({}, opened, at_ms(0)).state;
  return agreed;
}

reserve_request machines::ask(std::uint32_t attempt) const {
  hand_off_shape shape;
  shape.retries = 1;
  reserve_request asked = sample_reserve(shape, attempt + 1);
  asked.spec.prompt_tokens = blocks_ * sample_block_tokens - 1;
  asked.spec.output_tokens = 1; // in the last block of the prompt
  asked.prompt.ids.assign(asked.spec.prompt_tokens, 1);
  return asked;
}

std::string machines::give_up(std::uint32_t attempt) {
  given_up_.insert(attempt);
  const attempt_failed failed{sample_attempt(attempt + 1), some_reason};
  request_ = request::step(std::move(request_), failed, at_ms(1)).state;
  return agreed;
}

std::string machines::reserve(const std::string& what, std::uint32_t attempt) {
  const auto said = step_pool(ask(attempt));
  if (what == "granted")
    return unless(has(said, "open_reservation"), "the pool does not grant");
  if (what == "reserve_refused")
    return unless(has(said, "reserve_refused"), "the pool does not refuse");
  // That its reservation is asked to answer again is a word that may be lost.
  return unless(!has(said, "open_reservation") && !has(said, "reserve_refused"),
                "the pool answers an attempt that holds memory");
}

std::vector<std::string> machines::step_pool(const pool::event& event) {
  auto result = pool::step(std::move(pool_), event, at_ms(1));
  pool_ = std::move(result.state);
  std::vector<std::string> said;
  for (const auto& effect : result.effects) {
    said.push_back(type_of(effect));
    if (const auto* opened = std::get_if<open_reservation>(&effect)) {
      reservations_.push_back({opened->asked, opened->granted, {}, {}, false});
      step_reservation(static_cast<std::uint32_t>(reservations_.size() - 1),
                       begin_reservation{*opened, model_without_resume(), sample_lease_ms});
    }
  }
  return said;
}

// ---- reservations

std::vector<std::string> machines::step_reservation(std::uint32_t number,
                                                    const reservation::event& event) {
  const bool begins = std::holds_alternative<begin_reservation>(event);
  const std::int64_t now_ms = begins ? 0 : reservations_[number].lease_over ? sample_lease_ms : 1;
  auto result
    = reservation::step(std::move(reservations_[number].state), event, at_ms(now_ms));
  reservations_[number].state = std::move(result.state);
  const auto lane_of = [&](const lane_id& id) -> lane_party& {
    return lanes_[number * lanes_each + id.destination.value];
  };
  std::vector<std::string> said;
  for (const auto& effect : result.effects) {
    said.push_back(type_of(effect));
    reservations_[number].said.insert(said.back());
    if (const auto* e = std::get_if<open_lane>(&effect))
      lane_of(e->lane).opening = *e;
    else if (const auto* e = std::get_if<stop_lane>(&effect))
      lane_of(e->lane).stopping = *e;
    else if (const auto* e = std::get_if<mark_live>(&effect))
      step_pool(*e);
    else if (const auto* e = std::get_if<quarantine_blocks>(&effect))
      step_pool(*e);
  }
  return said;
}

manifest_offered machines::offer(std::uint32_t number) const {
  const auto& r = reservations_[number];
  manifest_offered offer;
  offer.offered = source_manifest(model_without_resume(), ranks,
                                  {r.asked.attempt, r.asked.spec, r.asked.prompt, r.granted});
  return offer;
}

std::string machines::act_on_reservation(const std::string& what, std::uint32_t number) {
  auto& r = reservations_[number];
  const auto hear = [&](const reservation::event& event) {
    step_reservation(number, event);
    return agreed;
  };
  if (what == "offered" || what == "offered_again" || what == "offered_too_late")
    return hear(offer(number));
  if (what == "lease_over") {
    r.lease_over = true;
    return agreed;
  }
  if (what == "expired" || what == "expired_early" || what == "expired_later")
    return hear(lease_expired{});
  if (what == "revoked" || what == "cancelled" || what == "revoked_later") {
    revoke_reservation revoked;
    revoked.attempt = r.asked.attempt;
    revoked.why = some_reason;
    return given_up_.count(r.asked.attempt.ordinal - 1) == 0 ? "nobody gave the attempt up"
                                                             : hear(revoked);
  }
  if (what == "claimed" || what == "claim_refused")
    return claim(what, number);
  if (what.rfind("commit", 0) == 0)
    return commit(what, number);
  if (what == "finished")
    return hear(sequence_finished{r.granted.sequence, finish_reason::length, {}, 1});
  if (what == "quiesced")
    return hear(sequence_quiesced{r.granted.sequence});
  if (what == "reclaimed" || what == "reclaimed_again")
    return reclaim(number);
  return "no step of ours has this name";
}

std::string machines::claim(const std::string& what, std::uint32_t number) {
  const auto& r = reservations_[number];
  if (r.said.count("transfer_completed") == 0)
    return "the transfer was never said to be complete";
  auto result = request::step(std::move(request_), claim_commit{r.asked.attempt}, at_ms(1));
  request_ = std::move(result.state);
  const bool granted = !std::get<commit_claimed>(result.effects.at(0)).refusal;
  if (granted)
    commits_.emplace(r.asked.attempt.ordinal - 1, sample_commit(r.granted));
  return unless(granted == (what == "claimed"),
                granted ? "the claim is granted" : "the claim is refused");
}

std::string machines::commit(const std::string& what, std::uint32_t number) {
  const auto& r = reservations_[number];
  const auto sent = commits_.find(r.asked.attempt.ordinal - 1);
  if (sent == commits_.end())
    return "no commit was sent";
  if (heeds_old_generations(number, sent->second))
    return "a commit of other generations would be heeded";
  const bool activates = has(step_reservation(number, sent->second), "activate_sequence");
  return unless(activates == (what == "committed"),
                activates ? "the commit is heeded" : "the commit is not heeded");
}

/// A stale commit names another reservation and, but for equal sums, other generations. Each of the
/// two must be enough: here it is given the right reservation.
bool machines::heeds_old_generations(std::uint32_t number, protocol::commit sent) const {
  const auto& r = reservations_[number];
  if (sent.generation_sum == generation_sum(r.granted.blocks))
    return false;
  sent.reservation = r.granted.reservation;
  const auto result = reservation::step(r.state, sent, at_ms(1));
  return std::any_of(result.effects.begin(), result.effects.end(),
                     [](const auto& e) { return std::holds_alternative<activate_sequence>(e); });
}

std::string machines::reclaim(std::uint32_t number) {
  const auto& r = reservations_[number];
  if (r.said.count("reclaim_blocks") == 0)
    return "the pool was not asked to reclaim";
  const auto said = step_pool(reclaim_blocks{r.granted.reservation});
  if (!has(said, "blocks_reclaimed"))
    return "the pool does not answer";
  step_reservation(number, blocks_reclaimed{r.granted.reservation});
  return agreed;
}

// ---- what both ends show

void machines::show_pool(std::vector<std::string>& words) const {
  const auto* open = std::get_if<request::open>(&request_);
  words.push_back(std::to_string(open == nullptr ? 0 : open->data.committed));
  words.push_back(std::to_string(pool_.ledger.free));
  static const char* const names[] = {"free", "leased", "live", "quarantined"};
  for (const auto& block : pool_.blocks) {
    words.push_back(names[block.index()]);
    std::visit(overloaded{
                 [&](const pool::block_free& b) {
                   words.push_back(std::to_string(b.next.value));
                   words.push_back("0");
                 },
                 [&](const auto& b) {
                   words.push_back(std::to_string(b.gen.value));
                   words.push_back(std::to_string(b.holder));
                 },
               },
               block);
  }
}

namespace {

/// In an ending it matters only whether a lane has stopped or is lost; the model forgets the rest.
std::string status_in(const reservation::body& data, const lane_id& id, bool ending) {
  const auto lane = data.lanes.find(id);
  if (lane == data.lanes.end())
    return "none";
  switch (lane->second.status) {
  case reservation::lane_status::stopped: return "stopped";
  case reservation::lane_status::lost: return "lost";
  case reservation::lane_status::opening: return ending ? "open" : "opening";
  case reservation::lane_status::open: return "open";
  case reservation::lane_status::landed: return ending ? "open" : "landed";
  }
  return "?";
}

struct status_of {
  lane_id lane;

  std::string operator()(const reservation::nascent&) const { return "none"; }
  std::string operator()(const reservation::reclaimed&) const { return "none"; }
  std::string operator()(const reservation::reserved& s) const { return before_end(s.data); }
  std::string operator()(const reservation::receiving& s) const { return before_end(s.data); }
  std::string operator()(const reservation::complete& s) const { return before_end(s.data); }
  std::string operator()(const reservation::live& s) const { return before_end(s.data); }
  template <class Ending>
  std::string operator()(const Ending& s) const {
    return status_in(s.data, lane, true);
  }
  std::string before_end(const reservation::body& data) const {
    return status_in(data, lane, false);
  }
};

} // namespace

std::vector<std::string> machines::show() const {
  std::vector<std::string> words;
  show_pool(words);
  for (std::uint32_t r = 0; r < reservations; ++r)
    words.push_back(r < reservations_.size() ? reservation::name_of(reservations_[r].state)
                                             : "nascent");
  for (std::uint32_t lane = 0; lane < reservations * lanes_each; ++lane) {
    const std::uint32_t r = lane / lanes_each;
    words.push_back(r < reservations_.size()
                      ? std::visit(status_of{id_of(lane)}, reservations_[r].state)
                      : "none");
  }
  for (const auto& lane : lanes_)
    words.push_back(lane.closed ? "retired" : lane::name_of(lane.state));
  return words;
}

lane_id machines::id_of(std::uint32_t lane) const {
  const auto rank = static_cast<std::uint16_t>(lane % lanes_each);
  return {reservations_.at(lane / lanes_each).granted.reservation, {rank}, {rank}};
}

} // namespace baton::tests::spin
