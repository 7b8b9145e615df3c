// I8, I15, I16, as the messages of requests and attempts show them: whoever ends tells those who
// work for it, and waits for those who hold memory for it.
#include "protocol/invariants.hpp"

namespace baton::protocol::invariants {

namespace {

bool says(const trace_step& step, const char* message) { return step.record.message == message; }

void add(const trace_step& step, const std::string& what, verdicts& out) {
  out.add({"I16", step.record.actor + " " + what, {step.index}, {}});
}

void check_cancel(const trace_step& step, const attempt_debts_facts& debts, verdicts& out) {
  const std::string& state = step.record.before;
  if (state == "done" || state == "abandoned" || state == "drained")
    return; // both sides end already
  if (state == "reserving" && !step.did("withdraw_attempt"))
    add(step, "is cancelled and does not withdraw what it asked for", out);
  if (debts.destination_owed && !step.did("revoke_reservation"))
    add(step, "is cancelled and does not tell the decode group", out);
  if (debts.source_owed && !step.did("cancel_source"))
    add(step, "is cancelled and does not tell the prefill group", out);
}

} // namespace

/// I8: what a client has seen is not begun again, and not told as if it had seen nothing.
void stream_breaks_openly(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto request = world.requests.find(step.record.request);
  if (step.at("request") && step.did("start_attempt") && request != world.requests.end()
      && request->second.next_at_router > 0)
    out.add({"I8", step.record.actor + " begins again after visible output", {step.index}, {}});
  const auto* told = std::get_if<request_ended>(&step.fact);
  if (told != nullptr && step.at_client() && told->kind == outcome_kind::failed && told->tokens > 0)
    out.add({"I8",
             told->external.value + " is told as failed after " + std::to_string(told->tokens)
               + " tokens: a broken stream is interrupted",
             {step.index}, {}});
}

void who_ends_tells(const trace_world& world, const trace_step& step, verdicts& out) {
  if (step.at("request") && says(step, "cancel_request") && step.did("request_ended")
      && !step.did("cancel_attempt"))
    add(step, "is cancelled and does not stop its attempt", out);
  if (!step.at("attempt"))
    return;
  const auto known = world.debts.find(step.key.actor);
  const attempt_debts_facts before = known == world.debts.end() ? attempt_debts_facts{}
                                                                : known->second;
  if (says(step, "cancel_attempt"))
    check_cancel(step, before, out);
  if (!step.did("attempt_drained"))
    return;
  const attempt_debts_facts left = after(before, step);
  if (left.destination_owed)
    add(step, "ends although the decode group holds memory for it", out);
  if (left.source_owed)
    add(step, "ends although the prefill group holds memory for it", out);
  const auto request = world.requests.find(step.record.request);
  if (request != world.requests.end() && request->second.gone_at)
    out.add({"I16", step.record.actor + " ends after its request is gone",
             {*request->second.gone_at, step.index}, {}});
}

void deadline_ends_it(const trace_world& world, const trace_step& step, verdicts& out) {
  if (!step.at("request") || !std::holds_alternative<deadline_reached>(step.fact)
      || step.section.lost > 0 || step.did("request_ended"))
    return;
  const auto request = world.requests.find(step.record.request);
  if (request != world.requests.end() && request->second.opened_at && !request->second.ended_at)
    out.add({"I15", step.record.actor + " goes on after its deadline",
             {*request->second.opened_at, step.index}, {}});
}

} // namespace baton::protocol::invariants
