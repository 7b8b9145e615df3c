#include "tests/sim/judge.hpp"

#include "protocol/step.hpp"

#include <map>

namespace baton::sim {

using namespace protocol;

namespace {

struct block_view {
  block_change::to now = block_change::to::free;
  std::uint64_t gen = 0; ///< of a free block: its next one
  std::uint64_t holder = 0;
};

block_view view(const pool::block_state& b) {
  using to = block_change::to;
  return std::visit(
    overloaded{
      [](const pool::block_free& f) { return block_view{to::free, f.next.value, 0}; },
      [](const pool::block_leased& x) { return block_view{to::leased, x.gen.value, x.holder}; },
      [](const pool::block_live& x) { return block_view{to::live, x.gen.value, x.holder}; },
      [](const pool::block_quarantined& x) {
        return block_view{to::quarantined, x.gen.value, x.holder};
      },
    },
    b);
}

std::string block_text(std::size_t i) { return "block " + std::to_string(i); }

std::string judge_change(std::size_t i, const block_view& was, const block_view& is) {
  using to = block_change::to;
  if (is.gen < was.gen)
    return "I4: the generation of " + block_text(i) + " falls";
  if (is.now == to::leased && was.now != to::free)
    return "I1: " + block_text(i) + " is granted while it is held";
  if (is.now == to::free && was.now != to::quarantined)
    return "I3: " + block_text(i) + " is freed without having been in quarantine";
  if (is.now == to::free && is.gen <= was.gen)
    return "I4: the generation of " + block_text(i) + " is used again";
  if (is.now == to::live && was.now != to::leased)
    return "I5: " + block_text(i) + " becomes live without a lease";
  return "";
}

std::string judge_ledger(const pool::state& s) {
  std::uint32_t counts[4] = {};
  std::map<std::uint64_t, std::uint32_t> held;
  for (const auto& b : s.blocks) {
    const block_view v = view(b);
    ++counts[static_cast<std::size_t>(v.now)];
    if (v.now != block_change::to::free)
      ++held[v.holder];
  }
  const auto& l = s.ledger;
  if (counts[0] != l.free || counts[1] != l.leased || counts[2] != l.live
      || counts[3] != l.quarantined)
    return "I12: the ledger differs from the blocks";
  std::uint32_t slots = 0;
  for (const auto& [number, h] : s.holdings) {
    slots += h.decodes ? 1 : 0;
    if (held[number] != h.blocks.size())
      return "I1: holding " + std::to_string(number) + " shares a block";
    held.erase(number);
  }
  if (!held.empty())
    return "I12: a block is charged to nobody";
  return slots == l.slots_used ? "" : "I12: decode slots differ from the holdings";
}

} // namespace

std::string judge_pool(const pool::state& before, const pool::state& after,
                       std::vector<block_change>& changes) {
  for (std::size_t i = 0; i < after.blocks.size() && i < before.blocks.size(); ++i) {
    const block_view was = view(before.blocks[i]);
    const block_view is = view(after.blocks[i]);
    if (was.now == is.now && was.gen == is.gen && was.holder == is.holder)
      continue;
    changes.push_back({static_cast<std::uint32_t>(i), is.now, is.gen,
                       is.now == block_change::to::free ? was.holder : is.holder});
    // A block freed and granted again within one step: both changes count.
    if (is.now == block_change::to::leased && was.now == block_change::to::quarantined
        && is.gen > was.gen) {
      changes.back() = {static_cast<std::uint32_t>(i), block_change::to::free, is.gen, was.holder};
      changes.push_back({static_cast<std::uint32_t>(i), is.now, is.gen, is.holder});
      continue;
    }
    const std::string breach = judge_change(i, was, is);
    if (!breach.empty())
      return breach;
  }
  return judge_ledger(after);
}

std::string judge_request(const request::state& before, const std::vector<command>& commands) {
  const bool over = std::holds_alternative<request::ended>(before)
                    || std::holds_alternative<request::gone>(before);
  if (over)
    for (const command& c : commands)
      if (c.what == op::frame || c.what == op::outcome || c.what == op::open)
        return "I9: a request acts after its outcome";
  return "";
}

} // namespace baton::sim
