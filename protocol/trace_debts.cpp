#include "protocol/trace_line.hpp"
#include "protocol/trace_world.hpp"

namespace baton::protocol {

namespace {

struct debts_applier {
  attempt_debts_facts& debts;
  const trace_step& step;

  void operator()(const reserve_granted& e) {
    if (debts.destination || !step.did("start_prefill"))
      return; // of a repeated question, or too late: it is given back at once
    debts.destination = e.granted.reservation;
    debts.decode_group = e.granted.group.value;
    debts.destination_owed = true;
  }
  void operator()(const prefill_accepted& e) {
    if (debts.hold || !debts.destination || step.did("cancel_source"))
      return;
    if (step.record.before == "abandoned" || step.record.before == "done")
      return;
    debts.hold = e.hold;
    debts.source_group = group_of_node(node_of_sender(step.record.header.sender));
    debts.source_owed = true;
  }
  void operator()(const reservation_reclaimed& e) { destination_over(e.reservation); }
  void operator()(const reservation_quarantined& e) { destination_over(e.reservation); }
  void destination_over(const reservation_id& id) {
    if (debts.destination == id)
      debts.destination_owed = false;
  }
  void operator()(const source_released& e) {
    if (debts.hold == e.hold)
      debts.source_owed = false;
    if (!debts.hold)
      debts.hold = e.hold; // its first word was lost
  }
  void operator()(const group_lost& e) {
    if (e.group.value == debts.decode_group)
      debts.destination_owed = false;
    if (e.group.value == debts.source_group)
      debts.source_owed = false;
  }
  template <class Fact>
  void operator()(const Fact&) {}
};

} // namespace

attempt_debts_facts after(attempt_debts_facts before, const trace_step& step) {
  std::visit(debts_applier{before, step}, step.fact);
  return before;
}

} // namespace baton::protocol
