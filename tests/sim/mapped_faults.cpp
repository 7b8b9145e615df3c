// What goes wrong between ranks that share memory: processes that die, writers that are silent; and
// what a rank may not say of a feed.
#include "tests/sim/world.hpp"

#include "protocol/limits.hpp"

#include <algorithm>

namespace baton::sim {

using namespace protocol;

/// A source rank has met a word for a feed that is not on it. `answer` is as in at_feed_rank.
void world::meet_feed(const mail& m, std::uint32_t answer) {
  const auto at = std::lower_bound(mapped_.met.begin(), mapped_.met.end(), m.to);
  const bool met = at != mapped_.met.end() && *at == m.to;
  const auto* opened = std::get_if<open_feed>(&known_->event<kind::feed>(m.event));
  if (!met && answer != 0 && opened != nullptr)
    breach("I16: a rank says of a feed that has never begun that it has ended");
  if (!met && answer != 0
      && std::holds_alternative<feed_received>(known_->event<kind::hold>(answer - 1)))
    breach("I14: a rank remembers the receipt of a feed that has never begun");
  if (!met)
    mapped_.met.insert(at, m.to);
  if (answer != 0 || opened == nullptr)
    return;
  const address rank = address::unpacked(m.to);
  std::uint32_t& id = mapped_.writers[rank_index(rank.home.group, rank.source)];
  lane_writers writers = known_->writers_at(id);
  writers.begin(*opened);
  id = known_->put_writers(writers);
}

/// Its processes are dead, and not yet collected: until then what they write may still arrive.
void world::leave_dead(std::uint8_t group) {
  const group_life dead{group, groups_[group].life};
  const auto of_it = [&](std::uint32_t who) { return address::unpacked(who).home == dead; };
  auto& met = mapped_.met;
  met.erase(std::remove_if(met.begin(), met.end(), of_it), met.end());
  for (std::uint8_t r = 0; r < setup_->shape.ranks(group); ++r) {
    mapped_.written[rank_index(group, r)] = 0;
    mapped_.writers[rank_index(group, r)] = 0;
    if (setup_->shape.decodes(group))
      continue;
    mapped_.dead.push_back(address{kind::feed, dead, 0, r, r, {}}.packed());
    tell_ended(life_of(dead, r), process_end::died);
  }
  std::sort(mapped_.dead.begin(), mapped_.dead.end());
  for (sequence_row& s : sequences_)
    if (s.home == dead)
      s.ending = s.asked = 0;
  sequences_.erase(std::remove_if(sequences_.begin(), sequences_.end(),
                                  [&](const sequence_row& s) {
                                    return s.mapped && s.home == dead && !computing(s);
                                  }),
                   sequences_.end());
  if (setup_->shape.decodes(group)) { // the next life has other pages, and its writers map those
    const std::size_t of_group = mapped_.cut_off.size() / groups_.size();
    const auto first = mapped_.cut_off.begin() + static_cast<std::ptrdiff_t>(of_group * group);
    std::fill(first, first + static_cast<std::ptrdiff_t>(of_group), std::uint8_t{0});
  }
}

/// The kernel's word, to every decode rank: the process is gone for good.
void world::reap(std::size_t index) {
  const address gone = address::unpacked(mapped_.dead[index]);
  mapped_.dead.erase(mapped_.dead.begin() + static_cast<std::ptrdiff_t>(index));
  for (sequence_row& s : sequences_)
    if (s.home == gone.home)
      s.ranks_done = static_cast<std::uint8_t>(s.ranks_done | 1U << gone.source);
  sequences_.erase(std::remove_if(sequences_.begin(), sequences_.end(),
                                  [&](const sequence_row& s) {
                                    return s.mapped && s.home == gone.home && !computing(s);
                                  }),
                   sequences_.end());
  tell_ended(life_of(gone.home, gone.source), process_end::collected);
}

void world::tell_ended(const incarnation& life, process_end how) {
  for (std::uint8_t g = setup_->shape.prefill_groups; g < groups_.size(); ++g)
    for (std::uint8_t r = 0; groups_[g].alive && r < setup_->shape.decode_ranks; ++r) {
      std::uint32_t& id = mapped_.written[rank_index(g, r)];
      written_lanes written = known_->written_at(id);
      if (observer_ != nullptr && how == process_end::collected)
        observer_->heard(*this, {kind::lane, {g, groups_[g].life}, 0, r, r, {}},
                         process_reaped{{}, life, 0});
      const auto stopped = written.process_ended(life, how);
      id = known_->put_written(written);
      all_stopped(stopped);
    }
}

bool world::may_be_outwaited(std::uint8_t group, std::uint8_t rank) const {
  const instant then = after_ms({0}, groups_[group].now_ms + limits::writer_wait_ms_max);
  return groups_[group].alive
         && !known_->written_at(mapped_.written[rank_index(group, rank)])
               .overdue(then, limits::writer_wait_ms_max)
               .empty();
}

/// Nothing of the writer is heard for as long as a rank waits. Leases end meanwhile.
void world::outwait(std::uint8_t group, std::uint8_t rank) {
  groups_[group].now_ms += limits::writer_wait_ms_max;
  writers_due({kind::lane, {group, groups_[group].life}, 0, rank, rank, {}});
}

void world::add_mapped(std::vector<action>& out) const {
  for (std::size_t i = 0; i < mapped_.dead.size(); ++i)
    out.push_back({what::reap, false, static_cast<std::uint16_t>(i), 0});
}

void world::add_silences(std::vector<action>& out) const {
  for (std::uint8_t g = setup_->shape.prefill_groups; g < groups_.size(); ++g)
    for (std::uint8_t r = 0; r < setup_->shape.decode_ranks; ++r)
      if (may_be_outwaited(g, r))
        out.push_back({what::outwait, false, g, r});
}

} // namespace baton::sim
