#include "tests/protocol/conversation.hpp"

#include <algorithm>

namespace baton::tests {

using namespace protocol;

void conversation::breach(const std::string& sentence) {
  broken_.push_back("step " + std::to_string(steps_) + ": " + sentence);
}

/// True while the block has that generation and has not been given back.
bool conversation::holds(const std::string& pool, const block_ref& ref) const {
  const auto same = [&](const auto& block) { return block.gen == ref.gen; };
  return std::visit(overloaded{[](const pool::block_free&) { return false; }, same},
                    pools_.at(pool).state.blocks.at(ref.block.value));
}

void conversation::check_reading(const std::string& why, const std::string& pool,
                                 const std::vector<block_ref>& refs) {
  for (const auto& ref : refs)
    if (!holds(pool, ref))
      breach(why + " touches block " + std::to_string(ref.block.value) + " of " + pool
             + ", which was given back");
}

/// I1 and I12: the ledger, the blocks and the holdings tell the same story.
void conversation::check_pools() {
  for (const auto& [name, party] : pools_) {
    const auto& s = party.state;
    std::vector<std::uint32_t> counts(4, 0);
    std::map<std::uint64_t, std::uint32_t> by_holder;
    for (const auto& block : s.blocks) {
      ++counts[block.index()];
      std::visit(overloaded{[](const pool::block_free&) {},
                            [&](const auto& b) { ++by_holder[b.holder]; }},
                 block);
    }
    const auto& l = s.ledger;
    if (counts != std::vector<std::uint32_t>{l.free, l.leased, l.live, l.quarantined})
      breach("I12: the ledger of " + name + " differs from its blocks");
    if (l.free + l.leased + l.live + l.quarantined != s.config.blocks)
      breach("I12: the ledger of " + name + " does not sum up");
    std::uint64_t inflight_bytes = 0;
    for (const auto& [number, h] : s.holdings) {
      inflight_bytes += h.work.inflight_bytes;
      if (by_holder[number] != h.blocks.size())
        breach("I1: holding " + std::to_string(number) + " of " + name + " shares a block");
    }
    if (inflight_bytes != l.inflight_bytes)
      breach("the bytes in flight of " + name + " differ from its holdings'");
  }
}

/// What a source rank offers, that rank has computed.
void conversation::check_computed(const feed_party& feed, std::uint32_t piece) {
  const auto key = std::make_pair(sequence_key{source_group(), feed.opened.sequence},
                                  feed.opened.lane.source);
  const auto found = progress_.find(key);
  const std::uint32_t end
    = std::min((piece + 1) * feed.opened.block_tokens, feed.opened.prompt_tokens);
  if (found == progress_.end() || found->second.tokens < end)
    breach("a piece is offered before it is computed");
}

/// I3 and I14, judged by the devices themselves and not by what the machines believe.
void conversation::check_reclaim(const pool_party& pool, const reservation_id& id) {
  const auto busy = [&](const lane_id& lane) {
    const auto it = table_.find(lane);
    return it != table_.end() && it->second.receives > 0;
  };
  for (const auto& [lane, party] : lanes_)
    if (lane.reservation == id && (!party.ended || busy(lane)))
      breach("I3: reclaimed before a lane had stopped");
  const auto hold = holds_.find(id.number);
  const bool is_hold = hold != holds_.end() && hold->second.opened.hold == id;
  for (const auto& [lane, party] : feeds_)
    if (is_hold && party.opened.attempt == hold->second.opened.asked.attempt
        && (!party.ended || busy(lane)))
      breach("I14: released before a reader had stopped");
  for (const auto& [key, running] : kernels_) {
    const bool of_hold = is_hold && hold->second.opened.sequence == key.second;
    const auto r = reservations_.find(id.number);
    const bool of_reservation
      = r != reservations_.end() && r->second.granted.reservation == id
        && r->second.granted.sequence == key.second;
    const bool writes
      = key.first == "P7" && r != reservations_.end() && r->second.granted.reservation == id
        && std::any_of(holds_.begin(), holds_.end(), [&](const auto& h) {
             const open_hold& opened = h.second.opened;
             return opened.sequence == key.second && opened.asked.granted.mapped
                    && opened.asked.granted.reservation == id;
           });
    if (running > 0 && writes)
      breach("I3: given back while its writer's kernel runs");
    if (running > 0 && pool.name == "pool " + key.first && (of_hold || of_reservation))
      breach("I3: given back while a kernel runs");
  }
}

std::vector<std::string> conversation::not_drained() const {
  std::vector<std::string> left;
  const auto ended = [&](const auto& party, const char* state) {
    if (!party.ended)
      left.push_back(party.name + " is " + state);
  };
  ended(request_, request::name_of(request_.state));
  for (const auto& [key, p] : attempts_)
    ended(p, attempt::name_of(p.state));
  for (const auto& [key, p] : reservations_)
    ended(p, reservation::name_of(p.state));
  for (const auto& [key, p] : holds_)
    ended(p, source_hold::name_of(p.state));
  for (const auto& [key, p] : lanes_)
    ended(p, lane::name_of(p.state));
  for (const auto& [key, p] : feeds_)
    ended(p, feed::name_of(p.state));
  for (const auto& [name, p] : pools_)
    if (p.state.ledger.free != p.state.config.blocks || p.state.ledger.slots_used != 0
        || p.state.ledger.inflight_bytes != 0)
      left.push_back(p.name + " has " + std::to_string(p.state.ledger.free) + " free blocks of "
                     + std::to_string(p.state.config.blocks));
  for (const auto& [name, p] : groups_) {
    const auto& work = std::get<rank_group::ready>(p.state).data.work;
    if (!work.prefills.empty() || !work.decodes.empty() || !work.leaving_ones.empty())
      left.push_back(p.name + " still has sequences");
  }
  return left;
}

} // namespace baton::tests
