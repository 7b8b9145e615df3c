#include "tests/sim/world.hpp"

#include <algorithm>

namespace baton::sim {

using namespace protocol;

namespace {

template <class Opened, class State>
const Opened* opened_in(const State& state) {
  return std::visit(
    [](const auto& s) -> const Opened* {
      using here = std::decay_t<decltype(s)>;
      if constexpr (std::is_empty_v<here>)
        return nullptr;
      else
        return &s.data.opened;
    },
    state);
}

/// Bit of a piece; the resume state is the last bit, whatever the number of blocks.
std::uint32_t bit(std::uint32_t piece) { return 1U << piece; }

group_life home_of(std::uint32_t who) { return address::unpacked(who).home; }

} // namespace

const open_feed* opened_of(const feed::state& state) { return opened_in<open_feed>(state); }

const open_feed* world::opened_feed(std::uint32_t who) const {
  const party* p = find(who);
  return p == nullptr ? nullptr : opened_of(known_->state<kind::feed>(p->state));
}
const open_lane* world::opened_lane(std::uint32_t who) const {
  const party* p = find(who);
  return p == nullptr ? nullptr : opened_in<open_lane>(known_->state<kind::lane>(p->state));
}

// ---- the destination rank's table of grants -----------------------------------------------------

void world::admit(std::uint32_t lane) {
  const open_lane* opened = opened_lane(lane);
  const lane_id id = opened->lane;
  if (const failure why = begin_written(lane)) {
    tell(lane, lane, kind::lane,
         known_->put_event<kind::lane>(offer_refused{id, UINT32_MAX, why}));
    return;
  }
  table_row row;
  row.lane = lane;
  row.feed = feed_address(id, group_life_of(opened->source_life)).packed();
  row.blocks = known_->look_up(follows::lane_blocks, find(lane)->state, 0,
                               [&] { return known_->put_blocks(opened->blocks); });
  rows_.push_back(row);
  tell(lane, lane, kind::lane, known_->look_up(follows::lane_admitted, lane, 0, [&] {
    return known_->put_event<kind::lane>(lane_admitted{id});
  }));
}

void world::revoke(std::uint32_t lane) {
  bool known = false;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].lane == lane) {
      known = true;
      if (rows_[i].now != table_row::phase::open)
        continue;
      rows_[i].now = table_row::phase::stopping;
      quiesce_if_idle(i);
    }
  if (known)
    return;
  table_row refused; // its grant was never taken in
  refused.lane = lane;
  refused.feed = feed_address(opened_lane(lane)->lane,
                              group_life_of(opened_lane(lane)->source_life)).packed();
  notify(refused, letter::stopped);
  reader_ended(lane);
}

void world::noticed(const mail& m) {
  switch (m.what) {
  case letter::offer: offered(m); return;
  case letter::query: queried(m); return;
  case letter::ask_writer:
  case letter::writer_stopped:
  case letter::end_sequence:
  case letter::ask_hold:
  case letter::hold_gone: between_ranks(m); return;
  default: break;
  }
  const open_feed* opened = opened_feed(m.to);
  if (!lives(m.to) || opened == nullptr)
    return;
  const lane_id lane = opened->lane;
  party& feed = *find(m.to);
  const auto hear = [&](follows what, const auto& said) {
    step(feed, m.from, known_->look_up(what, m.to, 0, [&] {
      return known_->put_event<kind::feed>(said());
    }));
  };
  if (m.what == letter::receipt)
    hear(follows::receipt_arrived, [&] { return receipt_arrived{lane}; });
  else if (m.what == letter::stopped)
    hear(follows::reader_stopped, [&] { return reader_stopped{lane}; });
  else
    hear(follows::offer_rejected, [&] {
      return offer_rejected{lane, 0, {reason::not_found, "no such lane"}};
    });
}

void world::notify(const table_row& row, letter what) {
  mail m;
  m.to = row.feed;
  m.from = row.lane;
  m.what = what;
  post(m);
}

void world::offered(const mail& m) {
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&](const table_row& r) { return r.lane == m.to; });
  if (!lives(m.to))
    return;
  if (row == rows_.end() || row->now != table_row::phase::open || row->received
      || row->feed != m.from) {
    table_row nobody;
    nobody.feed = m.from;
    nobody.lane = m.to;
    notify(nobody, letter::rejected);
    return;
  }
  const std::uint32_t fresh = m.event & ~(row->posted | row->landed);
  if (fresh == 0)
    return; // a repeated offer adds nothing
  row->posted |= fresh;
  row->source = m.blocks;
  row->cause = m.cause;
}

void world::queried(const mail& m) {
  const group_life destination = home_of(m.to);
  if (!groups_[destination.group].alive)
    return;
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&](const table_row& r) { return r.lane == m.to; });
  table_row answer;
  answer.lane = m.to;
  answer.feed = m.from;
  if (row == rows_.end() || row->now == table_row::phase::stopped)
    notify(answer, row != rows_.end() && row->received ? letter::receipt : letter::stopped);
  else if (row->received)
    notify(answer, letter::receipt);
}

/// The outstanding read of a piece ends: with its bytes, or with an error when its source is dead.
void world::land(std::size_t index, std::uint32_t piece) {
  table_row& row = rows_[index];
  const std::uint32_t lane = row.lane;
  const open_lane* opened = opened_lane(lane);
  if (opened == nullptr) {
    row.posted &= ~bit(piece);
    breach("I2: a read lands in a lane that has ended");
    return;
  }
  if (!lives(row.feed) && !is_mapped()) { // in place nothing is read from it
    fail_read(index, piece, {reason::peer_lost, "the source is gone"});
    return;
  }
  row.posted &= ~bit(piece);
  block_ref block;
  const bool resume = piece == resume_piece;
  const auto pieces = static_cast<std::uint32_t>(opened->blocks.size());
  if (!resume) {
    block = opened->blocks[piece];
    const address at = address::unpacked(lane);
    const group_life source = home_of(row.feed);
    const block_ref from = known_->blocks_at(row.source).at(piece);
    check_touch("I2", "a landing", at.home, block.block.value, block.gen.value);
    if (is_mapped()) {
      check_written(row, piece);
    } else {
      check_touch("I14", "a read", source, from.block.value, from.gen.value);
      memory(at.home.group, at.destination, block.block.value)
        = memory(source.group, at.source, from.block.value);
    }
  }
  row.landed |= bit(piece);
  arrived_ = {++messages_, row.cause};
  const std::uint32_t landed
    = known_->look_up(follows::piece_landed, lane, row.blocks << 5 | piece, [&] {
        return known_->put_event<kind::lane>(
          piece_landed{opened->lane, resume ? pieces : piece, block, 64, 5});
      });
  step(*find(lane), lane, landed);
  quiesce_if_idle(index);
}

void world::fail_read(std::size_t index, std::uint32_t piece, const failure& why) {
  table_row& row = rows_[index];
  row.posted &= ~bit(piece);
  const std::uint32_t lane = row.lane;
  if (const open_lane* opened = opened_lane(lane))
    step(*find(lane), lane,
         known_->put_event<kind::lane>(offer_refused{opened->lane, piece, why}));
  quiesce_if_idle(index);
}

void world::quiesce_if_idle(std::size_t index) {
  table_row& row = rows_[index];
  if (row.now != table_row::phase::stopping || row.posted != 0)
    return;
  row.now = table_row::phase::stopped;
  notify(row, row.received ? letter::receipt : letter::stopped);
  const std::uint32_t lane = row.lane;
  reader_ended(lane);
}

// ---- kernels ------------------------------------------------------------------------------------

void world::begin_sequence(std::uint32_t holder, std::uint32_t payload) {
  const work& w = known_->work_at(payload);
  sequence_row s;
  s.home = home_of(holder);
  s.number = static_cast<std::uint16_t>(w.sequence);
  s.holder = holder;
  s.payload = payload;
  if (begin_mapped(s))
    return;
  const party* pool = find(address{kind::pool, s.home, 0, 0, 0, {}}.packed());
  s.blocks = known_->look_up(follows::sequence_blocks, pool->state, payload, [&] {
    block_table refs;
    for (const block_id id : w.blocks)
      std::visit(overloaded{[](const pool::block_free&) {},
                            [&](const auto& b) { refs.push_back({id, b.gen}); }},
                 known_->state<kind::pool>(pool->state).blocks.at(id.value));
    return known_->put_blocks(refs);
  });
  if (known_->blocks_at(s.blocks).size() < w.blocks.size())
    breach("I7: a sequence begins on a free block");
  sequences_.push_back(s);
}

void world::cancel_sequence(std::uint32_t holder, std::uint32_t number) {
  for (sequence_row& s : sequences_)
    if (s.holder == holder && s.number == number)
      s.cancelling = true;
}

/// True while some kernel may touch the sequence's blocks.
bool world::computing(const sequence_row& s) const {
  if (work_of(s).tokens > 0)
    return true; // a decoding sequence leaves the table when it is quiesced
  return s.ranks_done + 1U < 1U << setup_->shape.ranks(s.home.group);
}

void world::compute(std::size_t index, std::uint8_t rank) {
  if (work_of(sequences_[index]).tokens > 0)
    compute_decode(index);
  else
    compute_prefill(index, rank);
}

void world::compute_prefill(std::size_t index, std::uint8_t rank) {
  sequence_row& s = sequences_[index];
  if (s.mapped) {
    compute_mapped(index, rank);
    return;
  }
  const block_table& refs = known_->blocks_at(s.blocks);
  const std::uint16_t request = index_of(work_of(s).attempt.request);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    check_touch("I2", "a kernel", s.home, refs[i].block.value, refs[i].gen.value);
    memory(s.home.group, rank, refs[i].block.value)
      = static_cast<std::uint16_t>(request * 8U + i + 1U);
  }
  has_computed(index, rank);
}

/// The rank tells its feeds; the slowest one's word is the group's.
void world::has_computed(std::size_t index, std::uint8_t rank) {
  sequence_row& s = sequences_[index];
  s.ranks_done = static_cast<std::uint8_t>(s.ranks_done | 1U << rank);
  say_ready(s, rank);
  if (computing(s))
    return;
  const std::uint32_t holder = s.holder;
  const sequence_id id{s.number};
  const bool cancelled = s.cancelling;
  const auto say = [&](follows what, const source_hold::event& event) {
    tell(holder, holder, kind::hold,
         known_->look_up(what, static_cast<std::uint32_t>(id.value), 0,
                         [&] { return known_->put_event<kind::hold>(event); }));
  };
  if (!cancelled)
    say(follows::prefill_computed, prefill_computed{id});
  say(follows::prefill_quiesced, sequence_quiesced{id});
}

std::uint32_t world::ready_for(const party& feed, const open_feed& opened) {
  return known_->look_up(follows::source_ready, feed.state, 0, [&] {
    return known_->put_event<kind::feed>(
      source_ready{opened.sequence, opened.prompt_tokens, packed_floats{{1.0F}}});
  });
}

/// Tells the rank's feeds how far it has come.
void world::say_ready(const sequence_row& s, std::uint8_t rank) {
  for (const party& p : parties_) {
    const address a = address::unpacked(p.who);
    if (a.what != kind::feed || a.home != s.home || a.source != rank)
      continue;
    const open_feed* opened = opened_feed(p.who);
    if (opened == nullptr || opened->sequence.value != s.number)
      continue;
    tell(p.who, p.who, kind::feed, ready_for(p, *opened));
  }
}

/// A feed that begins late is told what its rank has computed.
void world::watch_sequence(const party& feed) {
  const open_feed* opened = opened_feed(feed.who);
  const address a = address::unpacked(feed.who);
  if (opened == nullptr)
    return;
  for (const sequence_row& s : sequences_)
    if (s.home == a.home && s.number == opened->sequence.value
        && (s.ranks_done >> a.source & 1U) != 0) {
      tell(feed.who, feed.who, kind::feed, ready_for(feed, *opened));
      return;
    }
}

void world::compute_decode(std::size_t index) {
  sequence_row& s = sequences_[index];
  const work& w = work_of(s);
  for (std::uint8_t r = 0; r < setup_->shape.decode_ranks; ++r)
    check_reads(s, r);
  if (s.cancelling || s.finished) {
    quiesced(index);
    return;
  }
  const bool last = s.ranks_done + 1U >= w.tokens;
  const std::uint32_t token
    = known_->look_up(follows::token_emitted, s.payload, s.ranks_done, [&] {
        return known_->put_event<kind::request>(
          token_emitted{w.attempt, s.ranks_done, {7},
                        last ? finish_reason::length : finish_reason::none, {}, 0});
      });
  const std::uint32_t over = known_->look_up(follows::sequence_finished, s.payload, 0, [&] {
    return known_->put_event<kind::reservation>(
      sequence_finished{{s.number}, finish_reason::length, {}, w.tokens});
  });
  ++s.ranks_done;
  s.finished = last;
  const std::uint32_t holder = s.holder;
  tell(holder, request_address(w.attempt.request).packed(), kind::request, token);
  if (last)
    tell(holder, holder, kind::reservation, over);
}

void world::quiesced(std::size_t index) {
  const sequence_row s = sequences_[index];
  sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(index));
  tell(s.holder, s.holder, kind::reservation,
       known_->look_up(follows::decode_quiesced, s.number, 0, [&] {
         return known_->put_event<kind::reservation>(sequence_quiesced{{s.number}});
       }));
}

} // namespace baton::sim
