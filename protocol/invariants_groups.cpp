// I3, I13: what a group's leader says of its ranks, judged by the plans that each rank was given
// and the ends that each rank has said.
#include "protocol/invariants.hpp"

namespace baton::protocol::invariants {

namespace {

const group_facts* group_led_by(const trace_world& world, std::optional<std::uint32_t> section) {
  if (!section || world.sections[*section].incomplete())
    return nullptr;
  const auto found = world.groups.find(*section);
  return found == world.groups.end() ? nullptr : &found->second;
}

std::string text(const sequence_id& sequence) {
  return "sequence " + std::to_string(sequence.value);
}

} // namespace

void quiet_on_all_ranks(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto* e = std::get_if<sequence_quiesced>(&step.fact);
  const group_facts* group = e == nullptr ? nullptr : group_led_by(world, step.sender_section);
  if (group == nullptr)
    return;
  const auto planned = group->planned.find(e->sequence);
  for (std::size_t r = 0; planned != group->planned.end() && r < planned->second.size(); ++r) {
    const auto& [last_step, at] = planned->second[r];
    const std::uint64_t ended = r < group->ended.size() ? group->ended[r] : 0;
    if (last_step > ended)
      out.add({"I3",
               text(e->sequence) + " is said to be quiesced while rank " + std::to_string(r)
                 + " runs step " + std::to_string(last_step) + ", which names it",
               {at, step.index},
               {}});
  }
}

void plans_no_quiesced_sequence(const trace_world& world, const trace_step& step, verdicts& out) {
  const auto* e = std::get_if<run_step>(&step.fact);
  const bool at_rank = e != nullptr && step.record.machine.empty();
  const group_facts* group = at_rank ? group_led_by(world, step.sender_section) : nullptr;
  for (std::size_t i = 0; group != nullptr && i < e->slices.size(); ++i) {
    const auto quiesced = group->quiesced_at.find(e->slices[i].sequence);
    if (quiesced != group->quiesced_at.end())
      out.add({"I3",
               step.section.header.node.value + " runs step " + std::to_string(e->step.value)
                 + " on " + text(quiesced->first) + ", which was said to be quiesced",
               {quiesced->second, step.index},
               {}});
  }
}

void lost_rank_ends_group(const trace_world& world, const trace_step& step, verdicts& out) {
  if (!step.at("rank_group") || !step.did("run_step"))
    return;
  const group_facts* group = group_led_by(world, step.key.section);
  if (group != nullptr && group->lost_at)
    out.add({"I13", step.section.header.node.value + " plans on although a rank is lost",
             {*group->lost_at, step.index}, {}});
}

} // namespace baton::protocol::invariants
