#include "tests/sim/world.hpp"

#include <algorithm>

namespace baton::sim {

using namespace protocol;

std::uint16_t& world::memory(std::uint8_t group, std::uint8_t rank, std::uint32_t block) {
  const auto& shape = setup_->shape;
  const std::size_t blocks = std::max(shape.prefill_blocks, shape.decode_blocks);
  return memory_[(group * std::size_t{4} + rank) * blocks + block];
}

/// True while the block has that generation and has not been given back.
bool world::block_is(group_life home, std::uint32_t block, std::uint64_t gen) const {
  const party* p = find(address{kind::pool, home, 0, 0, 0, {}}.packed());
  if (p == nullptr)
    return false;
  return std::visit(overloaded{[](const pool::block_free&) { return false; },
                               [&](const auto& b) { return b.gen.value == gen; }},
                    known_->state<kind::pool>(p->state).blocks.at(block));
}

void world::check_touch(const char* id, const char* who, group_life home, std::uint32_t block,
                        std::uint64_t gen) {
  if (!block_is(home, block, gen))
    breach(std::string(id) + ": " + who + " touches block " + std::to_string(block) + " of "
           + group_text(home, setup_->shape.prefill_groups) + " in generation "
           + std::to_string(gen) + ", which has been given back");
}

/// I3, I14: a block that changes hands is named by no open lane and touched by no kernel.
void world::check_untouched(const char* done, group_life home, std::uint32_t block) {
  const auto names = [&](std::uint32_t table) {
    const block_table& t = known_->blocks_at(table);
    return std::any_of(t.begin(), t.end(), [&](const block_ref& r) {
      return r.block.value == block;
    });
  };
  for (const table_row& row : rows_) {
    if (address::unpacked(row.lane).home == home && row.now != table_row::phase::stopped
        && names(row.blocks))
      breach(std::string("I3: block ") + std::to_string(block) + " is " + done
             + " while a lane may still write it");
    if (address::unpacked(row.feed).home == home && row.posted != 0 && !is_mapped()
        && names(row.source))
      breach(std::string("I14: block ") + std::to_string(block) + " is " + done
             + " while a lane still reads it");
  }
  for (const sequence_row& s : sequences_) {
    if (s.home == home && !s.mapped && computing(s) && names(s.blocks))
      breach(std::string("I3: block ") + std::to_string(block) + " is " + done
             + " while a kernel may touch it");
    if (s.mapped && s.target == home && names(s.blocks) && may_write(s, block))
      breach(std::string("I3: block ") + std::to_string(block) + " is " + done
             + " while a rank that has it mapped may write it");
  }
}

void world::check_changes(std::uint32_t pool, const reaction& made) {
  const group_life home = address::unpacked(pool).home;
  for (std::uint32_t i = 0; i < made.changes; ++i) {
    const block_change& c = known_->change_at(made.first_change + i);
    if (c.now == block_change::to::free) {
      check_untouched("freed", home, c.block);
      for (std::uint8_t r = 0; r < 4; ++r)
        memory(home.group, r, c.block) = 0;
    }
    if (c.now == block_change::to::leased) {
      check_untouched("granted", home, c.block);
      if (setup_->generations_max > 0 && c.gen > setup_->generations_max)
        cut_ = true;
    }
  }
}

/// I5, I6: at a commit every piece of every lane has landed, each rank's memory holds this
/// request's prompt, the lease has not ended, and the request says that this attempt owns it.
void world::check_commit(const party& p) {
  const auto& data = std::get<reservation::live>(known_->state<kind::reservation>(p.state)).data;
  const auto& granted = data.begun.opened.granted;
  const address self = address::unpacked(p.who);
  const auto now = after_ms({0}, clock_of(p.who));
  if (now >= data.lease_end)
    breach("I5: a commit at or after the end of the lease");
  std::uint32_t lanes = 0;
  for (const table_row& row : rows_) {
    const address lane = address::unpacked(row.lane);
    if (lane.home != self.home || lane.number != self.number)
      continue;
    ++lanes;
    const auto pieces = static_cast<std::uint32_t>(known_->blocks_at(row.blocks).size());
    if (row.landed != ((1U << pieces) - 1U) + (1U << resume_piece))
      breach("I5: a commit although a piece has not landed");
  }
  if (lanes < std::max(setup_->shape.prefill_ranks, setup_->shape.decode_ranks))
    breach("I5: a commit without all lanes");
  const attempt_id id = granted.attempt;
  client_row& client = clients_[index_of(id.request)];
  if ((client.commits >> id.ordinal & 1U) != 0)
    breach("I6: an attempt is committed twice");
  client.commits = static_cast<std::uint8_t>(client.commits | 1U << id.ordinal);
  if (const party* r = find(request_address(id.request).packed())) {
    const auto& owner = known_->state<kind::request>(r->state);
    const auto owned = [&](const request::body& b) {
      return b.committed == id.ordinal && b.ordinal == id.ordinal;
    };
    const bool fine = std::visit(overloaded{
                                   [&](const request::open& s) { return owned(s.data); },
                                   [&](const request::streaming&) { return false; },
                                   [](const auto&) { return true; }, // ended: crossed by a cancel
                                 },
                                 owner);
    if (!fine)
      breach("I6: a commit of an attempt that does not own its request");
  }
}

/// I7: what attention reads is live, of its own generation, and what was computed for its request.
void world::check_reads(const sequence_row& s, std::uint8_t rank) {
  const block_table& refs = known_->blocks_at(s.blocks);
  const std::uint16_t request = index_of(work_of(s).attempt.request);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    check_touch("I7", "attention", s.home, refs[i].block.value, refs[i].gen.value);
    if (memory(s.home.group, rank, refs[i].block.value) != request * 8U + i + 1U)
      breach("I7: attention of rank " + std::to_string(rank) + " reads bytes that nobody computed"
             + " for request " + std::to_string(request + 1));
  }
}

/// I8: frames 0, 1, 2, … and one outcome.
void world::check_client(std::uint32_t self, const command& c) {
  client_row& client = clients_[address::unpacked(self).number];
  if (c.what == op::outcome) {
    if (client.outcome != 0)
      breach("I9: a client is told two outcomes");
    client.outcome = static_cast<std::uint8_t>(c.number + 1);
    return;
  }
  if (client.outcome != 0)
    breach("I9: a frame after the outcome");
  if (c.number != client.frames)
    breach("I8: a client sees a gap or a repeat");
  if ((client.commits >> (address::unpacked(c.to).number % 8U) & 1U) == 0)
    breach("I8: a frame of an attempt that was never committed");
  ++client.frames;
}

bool world::drained() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](const client_row& c) { return c.outcome != 0; })
         && std::all_of(parties_.begin(), parties_.end(), [&](const party& p) {
              if (address::unpacked(p.who).what != kind::pool)
                return false;
              const auto& s = known_->state<kind::pool>(p.state);
              return s.ledger.free == s.config.blocks && s.ledger.slots_used == 0;
            });
}

std::vector<std::string> world::not_drained() const {
  std::vector<std::string> left;
  const std::uint8_t prefill_groups = setup_->shape.prefill_groups;
  for (std::size_t i = 0; i < clients_.size(); ++i)
    if (clients_[i].outcome == 0)
      left.push_back("request " + std::to_string(i + 1) + " has no outcome");
  for (const party& p : parties_) {
    const address a = address::unpacked(p.who);
    if (a.what != kind::pool) {
      left.push_back(to_string(a, prefill_groups) + " is "
                     + known_->state_name(a.what, p.state));
      continue;
    }
    const auto& s = known_->state<kind::pool>(p.state);
    if (s.ledger.free != s.config.blocks || s.ledger.slots_used != 0)
      left.push_back(to_string(a, prefill_groups) + " has "
                     + std::to_string(s.ledger.free) + " free blocks of "
                     + std::to_string(s.config.blocks));
  }
  return left;
}

} // namespace baton::sim
