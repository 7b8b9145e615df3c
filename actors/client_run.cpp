#include "actors/client_run.hpp"

#include "protocol/assert.hpp"
#include "protocol/step.hpp"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace baton::actors {

using namespace protocol;

namespace {

/// A router that goes wrong goes wrong often: the first mistakes tell the story.
constexpr std::size_t problems_max = 100;

submit_request message_of(const scripted_request& asked) {
  submit_request message;
  message.spec = asked.spec;
  std::visit(overloaded{[&](const prompt_text& p) { message.prompt_text = p.text; },
                        [&](const token_list& p) {
                          message.prompt = p;
                          message.spec.prompt_tokens = static_cast<std::uint32_t>(p.ids.size());
                        },
                        [&](const prompt_length& p) { message.spec.prompt_tokens = p.tokens; }},
             asked.prompt);
  return message;
}

std::uint64_t digest_of(const packed_floats& logits) {
  if (logits.values.empty())
    return 0;
  return XXH3_64bits(logits.values.data(), logits.values.size() * sizeof(float));
}

template <class Plan>
const Plan* plan_of(const request_account& account) {
  return account.asked.cancel ? std::get_if<Plan>(&*account.asked.cancel) : nullptr;
}

cancel_request cancel_of(const request_account& account, const std::string& why) {
  return {account.asked.spec.external, {reason::cancelled, why}};
}

} // namespace

client_run::client_run(const script& script, external_id keep_logits_of)
  : keep_logits_of_(std::move(keep_logits_of)), open_max_(script.max_open) {
  for (auto& asked : expand(script)) {
    const std::size_t index = accounts_.size();
    by_name_[asked.spec.external] = index;
    auto& batch = batches_[asked.batch];
    batch.open_max = asked.batch_open_max;
    batch.waiting.push_back(index);
    accounts_.push_back({});
    accounts_.back().asked = std::move(asked);
  }
  for (const auto& [name, batch] : batches_)
    heads_.insert(batch.waiting.front());
  counts_.waiting = accounts_.size();
}

submission client_run::open_request(request_account& account, instant now) {
  account.stage = request_stage::open{};
  account.submitted = now;
  --counts_.waiting;
  ++counts_.open;
  submission result{message_of(account.asked), {}};
  if (const auto* plan = plan_of<cancel_after_ms>(account))
    result.cancel_after_ms = plan->ms;
  return result;
}

std::vector<submission> client_run::take_due(instant now) {
  std::vector<submission> due;
  while (counts_.open < open_max_ && !heads_.empty()) {
    const std::size_t index = *heads_.begin();
    auto& account = accounts_[index];
    if (now < after_ms(started_, account.asked.at_ms))
      break;
    heads_.erase(heads_.begin());
    auto& batch = batches_.at(account.asked.batch);
    batch.waiting.pop_front();
    ++batch.open;
    if (batch.has_room() && !batch.waiting.empty())
      heads_.insert(batch.waiting.front());
    due.push_back(open_request(account, now));
  }
  return due;
}

std::optional<std::int64_t> client_run::next_due_ms(instant now) const {
  if (heads_.empty() || counts_.open >= open_max_)
    return {};
  const instant due = after_ms(started_, accounts_[*heads_.begin()].asked.at_ms);
  return std::max<std::int64_t>(1, ms_between(now, after_ms(due, 1)));
}

void client_run::accepted(const request_accepted& message) {
  const auto it = by_name_.find(message.external);
  if (it == by_name_.end())
    note_problem(message.external.value, "was accepted, but is not in the script");
  else
    by_id_[message.request] = it->second;
}

void client_run::phase(const phase_entered& message, instant now) {
  const auto it = by_id_.find(message.attempt.request);
  if (it != by_id_.end())
    accounts_[it->second].phases.push_back({message.attempt.ordinal, message.phase, now});
}

void client_run::text(const frame_text& message) {
  if (auto* account = find_open(message.external, "text"))
    account->text += message.text.text;
}

std::optional<cancel_request> client_run::frame(const frame_forwarded& message, instant now) {
  const std::string index = std::to_string(message.index);
  auto* account = find_open(message.external, "frame " + index);
  if (account == nullptr)
    return {};
  if (message.index != account->frames.size()) {
    note_problem(account->name(), "frame " + index + " came where frame "
                                    + std::to_string(account->frames.size()) + " was due");
    return {};
  }
  account->frames.push_back({message.token.value, now, digest_of(message.logits)});
  if (message.kv_digest != 0)
    account->kv_digest = message.kv_digest;
  if (account->asked.spec.external == keep_logits_of_)
    account->logits.insert(account->logits.end(), message.logits.values.begin(),
                           message.logits.values.end());
  ++counts_.tokens;
  const auto* plan = plan_of<cancel_after_tokens>(*account);
  if (plan == nullptr || plan->tokens != account->frames.size())
    return {};
  return cancel_of(*account, "cancelled after " + std::to_string(plan->tokens) + " tokens");
}

void client_run::ended(const request_ended& message, instant now) {
  auto* account = find_open(message.external, "a second outcome");
  if (account == nullptr)
    return;
  if (message.tokens != account->frames.size())
    note_problem(account->name(), "ended after " + std::to_string(message.tokens) + " frames, "
                                    + std::to_string(account->frames.size()) + " came");
  account->stage = request_stage::over{message, now};
  by_id_.erase(message.request);
  --counts_.open;
  ++counts_.over;
  auto& batch = batches_.at(account->asked.batch);
  --batch.open;
  if (!batch.waiting.empty())
    heads_.insert(batch.waiting.front());
}

std::optional<cancel_request> client_run::cancel_when_due(const external_id& request) {
  const auto* account = find(request);
  if (account == nullptr || !account->is_open())
    return {};
  const auto* plan = plan_of<cancel_after_ms>(*account);
  BATON_ASSERT(plan != nullptr);
  return cancel_of(*account, "cancelled after " + std::to_string(plan->ms) + " ms");
}

std::vector<cancel_request> client_run::interrupt(const std::string& why) {
  for (auto& [name, batch] : batches_)
    batch.waiting.clear();
  heads_.clear();
  std::vector<cancel_request> cancels;
  for (const auto& account : accounts_)
    if (account.is_open())
      cancels.push_back(cancel_of(account, why));
  return cancels;
}

void client_run::router_lost(const std::string& why) {
  const std::size_t open = counts_.open;
  interrupt("");
  note_problem("", "the router is lost (" + why + ") with " + std::to_string(open)
                     + " requests open and " + std::to_string(counts_.waiting) + " to submit");
}

bool client_run::finished() const { return counts_.open == 0 && heads_.empty(); }

run_counts client_run::counts() const { return counts_; }

std::vector<std::string> client_run::open_names() const {
  std::vector<std::string> names;
  for (const auto& account : accounts_)
    if (account.is_open())
      names.push_back(account.name());
  return names;
}

const request_account* client_run::find(const external_id& request) const {
  const auto it = by_name_.find(request);
  return it == by_name_.end() ? nullptr : &accounts_[it->second];
}

request_account* client_run::find_open(const external_id& request, const std::string& what) {
  const auto it = by_name_.find(request);
  if (it == by_name_.end()) {
    note_problem(request.value, what + " came, but the request is not in the script");
    return nullptr;
  }
  auto& account = accounts_[it->second];
  if (account.is_open())
    return &account;
  note_problem(request.value,
               what + " came " + (account.end() != nullptr ? "after the outcome"
                                                            : "before the request was submitted"));
  return nullptr;
}

void client_run::note_problem(const std::string& request, const std::string& what) {
  if (problems_.size() < problems_max)
    problems_.push_back(request.empty() ? what : request + ": " + what);
}

} // namespace baton::actors
