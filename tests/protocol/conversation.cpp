#include "tests/protocol/conversation.hpp"

#include "tests/protocol/conversation_mail.hpp"

#include <algorithm>

namespace baton::tests {

using namespace protocol;

std::uint32_t in_order(choice, std::uint32_t) { return 0; }

conversation::conversation(const conversation_setup& setup, chooser choose,
                           conversation_trace* trace)
  : setup_(setup), choose_(std::move(choose)), trace_(trace) {
  for (const std::string& group : std::set<std::string>{"D3", source_group()}) {
    pool_party& pool = pools_[group];
    pool.name = "pool " + group;
    form_pool formed = sample_pool(group, setup.pool_blocks, degree_of(group));
    formed.mapped = setup.shape.mapped && group == "D3";
    take(pool, formed);
    group_party& ranks = groups_[group];
    ranks.name = "group " + group;
    take(ranks, form_group{{group}, degree_of(group), setup.chunk_tokens, 2});
    for (std::uint32_t rank = 0; rank < degree_of(group); ++rank)
      take(ranks, rank_joined{{static_cast<std::uint16_t>(rank)}, {9, rank + 1}});
  }
  request_.name = "request";
  request_spec spec = sample_spec(setup.shape);
  spec.fault.manifest_field = setup.falsified;
  spec.deadline_ms = setup.deadline_ms;
  if (trace_ != nullptr)
    trace_->heard("client", "client", submit_request{spec, {}, sample_prompt()}, now_);
  tell("client", request_, open_request{sample_attempt().request, spec, {1}});
}

std::uint32_t conversation::degree_of(const std::string& group) const {
  return group == "D3" ? setup_.shape.destination_tp : setup_.shape.source_tp;
}

void conversation::send(const std::string& from, const std::string& to, const std::string& what,
                        action deliver) {
  if (trace_ != nullptr)
    deliver = trace_->stamped(from, std::move(deliver));
  mail_[{from, to}].push_back(
    {next_number_++, from + " -> " + to + ": " + what, std::move(deliver)});
}

void conversation::send_far(const std::string& from, const std::string& to,
                            const std::string& what, action deliver) {
  if (trace_ != nullptr)
    deliver = trace_->stamped(from, std::move(deliver));
  constexpr std::int64_t late_ms = 700;     // later than what waits for it was asked again
  constexpr std::int64_t long_ms = 100'000; // when everything is over
  const auto later = [&](std::int64_t ms) {
    timers_.push_back({after_ms(now_, ms), from + " -> " + to + ": late " + what, deliver,
                       [] { return false; }});
  };
  const auto chosen = static_cast<fate>(choose_(choice::fate, fates));
  if (chosen != fate::arrives)
    fated_ = from + " -> " + to + ": " + what;
  switch (chosen) {
  case fate::arrives: break;
  case fate::is_lost: return;
  case fate::comes_twice: later(late_ms); break;
  case fate::comes_late: return later(late_ms);
  case fate::comes_again_later: later(long_ms); break;
  }
  send(from, to, what, std::move(deliver));
}

bool conversation::advance() {
  if (trace_ != nullptr)
    trace_->begins_step();
  timers_.erase(std::remove_if(timers_.begin(), timers_.end(),
                               [](const timer& t) { return t.needless(); }),
                timers_.end());
  std::map<std::uint64_t, std::pair<std::string, std::string>> heads; // oldest first
  for (const auto& [pair, letters] : mail_)
    if (!letters.empty())
      heads.emplace(letters.front().number, pair);
  if (heads.empty() && timers_.empty())
    return false;
  const auto senders = static_cast<std::uint32_t>(heads.size());
  const std::uint32_t picked
    = senders == 0 ? 0 : choose_(choice::next, senders + (timers_.empty() ? 0 : 1));
  ++steps_;
  if (picked < senders) {
    auto& letters = mail_[std::next(heads.begin(), picked)->second];
    const message letter = std::move(letters.front());
    letters.pop_front();
    log_.push_back(letter.what);
    letter.deliver();
  } else {
    const auto earliest = std::min_element(
      timers_.begin(), timers_.end(), [](const auto& a, const auto& b) { return a.due < b.due; });
    const timer due = std::move(*earliest);
    timers_.erase(earliest);
    now_ = now_ < due.due ? due.due : now_;
    log_.push_back(due.what);
    due.fire();
  }
  check_pools();
  return true;
}

void conversation::run(std::uint32_t steps_max) {
  while (advance())
    if (steps_ > steps_max) {
      breach("the conversation does not end");
      return;
    }
}

void conversation::cancel() {
  tell("client", request_,
       cancel_request{sample_spec().external, {reason::cancelled, "the client left"}});
}

void conversation::expire_leases() {
  now_ = after_ms(now_, setup_.lease_ms);
  log_.push_back("every lease ends");
  for (auto& [number, r] : reservations_)
    if (!std::holds_alternative<reservation::nascent>(r.state))
      take(r, lease_expired{});
  check_pools();
}

void conversation::reach_deadline() {
  now_ = after_ms(now_, setup_.deadline_ms);
  log_.push_back("the deadline is reached");
  if (!std::holds_alternative<request::nascent>(request_.state))
    take(request_, deadline_reached{});
  check_pools();
}

} // namespace baton::tests
