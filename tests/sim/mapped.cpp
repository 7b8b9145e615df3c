// In place between two groups: prefill ranks compute into the memory of the decode ranks of their
// number, as their transfer and compute devices do (actors/transfer_device.cpp,
// actors/compute_device.cpp; the questions are protocol/mapped_lanes.hpp's). A rank's writes land
// at any time until its plan has ended: after a cancel, after the death of its process until that
// is collected, and while nobody hears of it. Into pages that were replaced they land for nobody.
#include "tests/sim/world.hpp"

#include "protocol/limits.hpp"

#include <algorithm>

namespace baton::sim {

using namespace protocol;

namespace {

lane_id lane_of(const address& a) {
  return {{life_of(a.home, 0), a.number}, {a.source}, {a.destination}};
}

/// A transfer device: timers and words name it so. No pool gives the number 0.
address device_of(group_life home, std::uint8_t rank, kind end) {
  return {end, home, 0, rank, rank, {}};
}

const grant* granted_to(const source_hold::state& hold) {
  return std::visit(
    [](const auto& s) -> const grant* {
      if constexpr (std::is_empty_v<std::decay_t<decltype(s)>>)
        return nullptr;
      else
        return &s.data.begun.opened.asked.granted;
    },
    hold);
}

} // namespace

std::size_t world::rank_index(std::uint8_t group, std::uint8_t rank) const {
  return group * std::size_t{4} + rank;
}

/// 1: the rank has fresh pages there, which nobody else has mapped or will have.
std::uint8_t& world::cut_off(std::uint8_t group, std::uint8_t rank, std::uint32_t block) {
  return mapped_.cut_off[rank_index(group, rank) * mapped_.cut_off.size()
                           / (groups_.size() * 4)
                         + block];
}

// ---- kernels ------------------------------------------------------------------------------------

/// False where a sequence computes into its own group's blocks.
bool world::begin_mapped(sequence_row& s) {
  const party* holder = find(s.holder);
  if (!is_mapped() || holder == nullptr || address::unpacked(s.holder).what != kind::hold)
    return false;
  const grant* granted = granted_to(known_->state<kind::hold>(holder->state));
  s.mapped = true;
  s.target = group_life_of(granted->destination);
  s.blocks = known_->look_up(follows::granted_blocks, holder->state, 0, [&] {
    const auto& all = granted->blocks;
    return known_->put_blocks({all.begin(), all.begin() + granted->prompt_blocks});
  });
  sequences_.push_back(s);
  return true;
}

/// True when what the rank writes into the block is written into memory that somebody reads.
bool world::reaches(const sequence_row& s, std::uint8_t rank, std::uint32_t block) const {
  const group_row& target = groups_[s.target.group];
  return target.alive && target.life == s.target.life
         && const_cast<world*>(this)->cut_off(s.target.group, rank, block) == 0;
}

bool world::may_write(const sequence_row& s, std::uint32_t block) const {
  for (std::uint8_t r = 0; r < setup_->shape.ranks(s.home.group); ++r)
    if ((s.ranks_done >> r & 1U) == 0 && reaches(s, r, block))
      return true;
  return false;
}

void world::write_mapped(const sequence_row& s, std::uint8_t rank) {
  const block_table& refs = known_->blocks_at(s.blocks);
  const std::uint16_t request = index_of(work_of(s).attempt.request);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const std::uint32_t block = refs[i].block.value;
    if (!reaches(s, rank, block))
      continue;
    check_touch("I2", "a rank that has it mapped", s.target, block, refs[i].gen.value);
    memory(s.target.group, rank, block) = static_cast<std::uint16_t>(request * 8U + i + 1U);
  }
}

void world::compute_mapped(std::size_t index, std::uint8_t rank) {
  write_mapped(sequences_[index], rank);
  if (lives(sequences_[index].holder)) {
    has_computed(index, rank);
    say_what_ended(index, rank);
  } else {
    sequence_row& s = sequences_[index]; // of a dead process: it says no word
    s.ranks_done = static_cast<std::uint8_t>(s.ranks_done | 1U << rank);
  }
  if (!computing(sequences_[index]) && find(sequences_[index].holder) == nullptr)
    sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(index));
}

/// The plan has ended: what waited for that is said.
void world::say_what_ended(std::size_t index, std::uint8_t rank) {
  sequence_row& s = sequences_[index];
  const auto bit = static_cast<std::uint8_t>(1U << rank);
  const auto waited = [&](std::uint8_t& by_rank) {
    const bool did = (by_rank & bit) != 0;
    by_rank = static_cast<std::uint8_t>(by_rank & ~bit);
    return did;
  };
  std::uint32_t& id = mapped_.writers[rank_index(s.home.group, rank)];
  lane_writers writers = known_->writers_at(id);
  std::vector<lane_writers::said> all;
  if (waited(s.ending))
    all = writers.take(sequence_ended{{s.number}});
  if (waited(s.asked))
    for (const auto& said : writers.take(writing_ended{work_of(s).attempt}))
      all.push_back(said);
  id = known_->put_writers(writers);
  say_stopped(device_of(s.home, rank, kind::feed), all);
}

/// I2: what is announced as written has been written, for that request.
void world::check_written(const table_row& row, std::uint32_t piece) {
  const open_lane* opened = opened_lane(row.lane);
  const address at = address::unpacked(row.lane);
  const std::uint32_t block = opened->blocks[piece].block.value;
  if (row.now == table_row::phase::open
      && memory(at.home.group, at.destination, block)
           != index_of(opened->attempt.request) * 8U + piece + 1U)
    breach("I2: block " + std::to_string(block) + " is announced, and its bytes are not there");
}

// ---- the destination rank -----------------------------------------------------------------------

/// A failure: its writer may not write here any more.
failure world::begin_written(std::uint32_t lane) {
  const open_lane* opened = opened_lane(lane);
  if (!protocol::is_mapped(*opened))
    return {};
  const address at = address::unpacked(lane);
  std::uint32_t& id = mapped_.written[rank_index(at.home.group, at.destination)];
  written_lanes written = known_->written_at(id);
  failure why = written.begin(*opened);
  id = known_->put_written(written);
  return why;
}

void world::note_unread(const mail& stop) {
  const auto* word = std::get_if<stop_lane>(&known_->event<kind::lane>(stop.event));
  if (word == nullptr || !word->unread)
    return;
  const address at = address::unpacked(stop.to);
  std::uint32_t& id = mapped_.written[rank_index(at.home.group, at.destination)];
  written_lanes written = known_->written_at(id);
  written.unread(word->lane);
  id = known_->put_written(written);
}

/// No notice is taken any more: the lane has stopped, if its writer has.
void world::reader_ended(std::uint32_t lane) {
  const address at = address::unpacked(lane);
  if (is_mapped()) {
    std::uint32_t& id = mapped_.written[rank_index(at.home.group, at.destination)];
    written_lanes written = known_->written_at(id);
    const bool stopped = written.reader_ended(lane_of(at), after_ms({0}, clock_of(lane)));
    id = known_->put_written(written);
    if (!stopped) {
      ask_writers(device_of(at.home, at.destination, kind::lane));
      return;
    }
  }
  all_stopped({lane_of(at)});
}

void world::all_stopped(const std::vector<lane_id>& lanes) {
  for (const lane_id& id : lanes) {
    const std::uint32_t lane = lane_address(id).packed();
    if (opened_lane(lane) != nullptr)
      tell(lane, lane, kind::lane, known_->look_up(follows::receives_quiesced, lane, 0, [&] {
        return known_->put_event<kind::lane>(receives_quiesced{id});
      }));
  }
}

void world::forget_lane(std::uint32_t lane) {
  const address at = address::unpacked(lane);
  std::uint32_t& id = mapped_.written[rank_index(at.home.group, at.destination)];
  written_lanes written = known_->written_at(id);
  written.forget(lane_of(at));
  id = known_->put_written(written);
}

void world::ask_writers(const address& rank) {
  const std::uint32_t device = rank.packed();
  const auto questions
    = known_->written_at(mapped_.written[rank_index(rank.home.group, rank.destination)])
        .questions();
  for (const auto& q : questions) {
    mail m;
    m.from = lane_address(q.ask.lane).packed();
    m.to = feed_address(q.ask.lane, group_life_of(q.ask.hold.owner)).packed();
    m.what = letter::ask_writer;
    m.event = known_->put_question(q.ask);
    post(m);
  }
  const bool armed = std::any_of(timers_.begin(), timers_.end(),
                                 [&](const timer& t) { return t.who == device; });
  if (!questions.empty() && !armed)
    timers_.push_back({device, 0, clock_of(device) + limits::evidence_wait_ms_max});
}

void world::writers_due(const address& rank) {
  const instant now = after_ms({0}, clock_of(rank.packed()));
  const std::uint32_t id = mapped_.written[rank_index(rank.home.group, rank.destination)];
  for (const lane_id& lane : known_->written_at(id).overdue(now, limits::writer_wait_ms_max))
    replace_pages(lane_address(lane).packed());
  ask_writers(rank);
}

/// Fresh pages, private to the rank's process (transport/arena.hpp): all others keep the old ones,
/// and who maps the memory later gets the old ones too.
void world::replace_pages(std::uint32_t lane) {
  const open_lane* opened = opened_lane(lane);
  const address at = address::unpacked(lane);
  for (const block_ref& ref : opened->blocks) {
    cut_off(at.home.group, at.destination, ref.block.value) = 1;
    memory(at.home.group, at.destination, ref.block.value) = 0;
  }
  std::uint32_t& id = mapped_.written[rank_index(at.home.group, at.destination)];
  written_lanes written = known_->written_at(id);
  if (observer_ != nullptr)
    observer_->heard(*this, device_of(at.home, at.destination, kind::lane),
                     protocol::pages_replaced{opened->lane, opened->writer, 4096, {}});
  const auto stopped = written.pages_replaced(opened->lane);
  id = known_->put_written(written);
  all_stopped(stopped);
}

// ---- the source rank ----------------------------------------------------------------------------

void world::between_ranks(const mail& m) {
  const address to = address::unpacked(m.to);
  if (m.what == letter::ask_writer)
    return asked_writer(m);
  if (!lives(m.to))
    return;
  switch (m.what) {
  case letter::end_sequence: return end_at_rank(to.home, to.source, m.event);
  case letter::ask_hold: return asked_hold(m);
  case letter::hold_gone: return hold_is_gone(m);
  default: break;
  }
  std::uint32_t& id = mapped_.written[rank_index(to.home.group, to.destination)];
  written_lanes written = known_->written_at(id);
  const group_life writer{static_cast<std::uint8_t>(m.event & 0xff),
                          static_cast<std::uint8_t>(m.event >> 8)};
  const writer_stopped word{lane_of(to), life_of(writer, to.source)};
  if (observer_ != nullptr)
    observer_->heard(*this, device_of(to.home, to.destination, kind::lane), word);
  const auto stopped = written.take(word);
  id = known_->put_written(written);
  all_stopped(stopped);
}

/// Whoever is up under that name is asked.
void world::asked_writer(const mail& m) {
  address at = address::unpacked(m.to);
  const group_row& g = groups_[at.home.group];
  if (!g.alive)
    return;
  at.home.life = g.life;
  const ask_writer& question = known_->question_at(m.event);
  std::uint32_t& id = mapped_.writers[rank_index(at.home.group, at.source)];
  lane_writers writers = known_->writers_at(id);
  const bool asks = writers.ask(question, {group_text(at.peer, setup_->shape.prefill_groups)});
  id = known_->put_writers(writers);
  if (!asks)
    return;
  mail on;
  on.from = at.packed();
  on.to = address{kind::pool, at.home, 0, 0, 0, {}}.packed();
  on.what = letter::ask_hold;
  on.event = m.event;
  post(on);
}

/// The pool answers for a hold that is gone. One that lives speaks to its attempt, not to ranks.
void world::asked_hold(const mail& m) {
  const ask_writer question = known_->question_at(m.event);
  const party* pool = find(m.to);
  if (pool == nullptr)
    return; // of a life that is still beginning
  const reaction made = known_->react(
    m.to, pool->state,
    known_->put_event<kind::pool>(query_source{question.attempt, question.hold}), clock_of(m.to));
  for (std::uint32_t i = 0; i < made.commands; ++i) {
    const command& c = known_->command_at(made.first_command + i);
    if (c.event_of != kind::attempt
        || !std::holds_alternative<source_released>(known_->event<kind::attempt>(c.number)))
      continue;
    mail answer;
    answer.from = m.to;
    answer.to = m.from;
    answer.what = letter::hold_gone;
    answer.event = m.event;
    post(answer);
  }
}

void world::hold_is_gone(const mail& m) {
  const address at = address::unpacked(m.to);
  const ask_writer question = known_->question_at(m.event);
  std::uint32_t& id = mapped_.writers[rank_index(at.home.group, at.source)];
  lane_writers writers = known_->writers_at(id);
  if (!writers.hold_gone(question.hold))
    return;
  id = known_->put_writers(writers);
  bool runs = false;
  for (sequence_row& s : sequences_)
    if (s.mapped && s.home == at.home && work_of(s).attempt == question.attempt
        && (s.ranks_done >> at.source & 1U) == 0) {
      s.asked = static_cast<std::uint8_t>(s.asked | 1U << at.source);
      runs = true;
    }
  if (runs)
    return;
  const auto all = writers.take(writing_ended{question.attempt});
  id = known_->put_writers(writers);
  say_stopped(at, all);
}

/// The group's leader tells each rank.
void world::end_at_ranks(std::uint32_t hold, std::uint32_t sequence) {
  const group_life home = address::unpacked(hold).home;
  for (std::uint8_t r = 0; r < setup_->shape.ranks(home.group); ++r) {
    mail m;
    m.from = hold;
    m.to = device_of(home, r, kind::feed).packed();
    m.what = letter::end_sequence;
    m.event = sequence;
    post(m);
  }
}

void world::end_at_rank(group_life home, std::uint8_t rank, std::uint32_t sequence) {
  for (sequence_row& s : sequences_)
    if (s.mapped && s.home == home && s.number == sequence && (s.ranks_done >> rank & 1U) == 0) {
      s.ending = static_cast<std::uint8_t>(s.ending | 1U << rank);
      return;
    }
  std::uint32_t& id = mapped_.writers[rank_index(home.group, rank)];
  lane_writers writers = known_->writers_at(id);
  const auto all = writers.take(sequence_ended{{sequence}});
  id = known_->put_writers(writers);
  say_stopped(device_of(home, rank, kind::feed), all);
}

void world::say_stopped(const address& rank, const std::vector<lane_writers::said>& all) {
  for (const auto& said : all) {
    mail m;
    m.from = feed_address(said.lane, rank.home).packed();
    m.to = lane_address(said.lane).packed();
    m.what = letter::writer_stopped;
    m.event = rank.home.group | std::uint32_t{rank.home.life} << 8;
    post(m);
  }
}

} // namespace baton::sim
