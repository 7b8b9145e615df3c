#include "tests/protocol/conversation.hpp"

#include "tests/protocol/conversation_mail.hpp"

namespace baton::tests {

using namespace protocol;

// ---- compute ------------------------------------------------------------------------------------

void conversation::execute(group_party& group, const run_step& plan) {
  const std::string name = group.name.substr(6);
  for (std::uint32_t r = 0; r < degree_of(name); ++r) {
    const rank_id rank{static_cast<std::uint16_t>(r)};
    const std::string device = "compute " + name + "." + std::to_string(r);
    send(group.name, device, plan.type, [this, &group, name, device, rank, plan] {
      if (fails(name, rank) && failed_rank_is_gone_)
        return;
      if (trace_ != nullptr)
        trace_->heard(name + "." + std::to_string(rank.value), "compute_device", plan, now_);
      for (const auto& slice : plan.slices) {
        ++kernels_[{name, slice.sequence}];
        check_reading("a kernel", memory_of(name), sequences_.at({name, slice.sequence}));
      }
      send(device, device, "kernels completed",
           [this, &group, rank, plan] { complete_step(group, rank, plan); });
    });
  }
}

bool conversation::fails(const std::string& group, rank_id rank) const {
  return group == "D3" && failed_rank_ == rank;
}

void conversation::fail_rank(rank_id rank, bool gone) {
  if (rank.value >= degree_of("D3"))
    return;
  failed_rank_ = rank;
  failed_rank_is_gone_ = gone;
  if (!gone)
    return;
  if (trace_ != nullptr)
    trace_->cuts("D3." + std::to_string(rank.value));
  const failure why{reason::peer_lost, "its process is gone"};
  tell("guard", groups_.at("D3"), rank_lost{rank, why, true});
  for (auto& [id, lane] : lanes_)
    if (id.destination == rank && !lane.ended) {
      lane.ended = true;
      tell("guard", reservations_.at(id.reservation.number), lane_lost{id, why});
      if (const auto entry = table_.find(id); entry != table_.end()) {
        entry->second.now = table_entry::phase::stopped; // who is gone reads no more
        notify_source(id);
      }
    }
}

void conversation::complete_step(group_party& group, rank_id rank, const run_step& plan) {
  const std::string name = group.name.substr(6);
  if (fails(name, rank)) {
    for (const auto& slice : plan.slices)
      --kernels_.at({name, slice.sequence});
    if (!failed_rank_is_gone_)
      tell("compute " + name + "." + std::to_string(rank.value), group,
           step_failed{rank, plan.epoch, plan.step, {reason::peer_lost, "a kernel failed"}});
    return;
  }
  step_completed done{rank, plan.epoch, plan.step, {}};
  for (const auto& slice : plan.slices) {
    const sequence_key key{name, slice.sequence};
    check_reading("a kernel", memory_of(name), sequences_.at(key));
    --kernels_.at(key);
    const bool prompt
      = slice.kind == slice_kind::prefill || slice.kind == slice_kind::last_prefill;
    if (rank.value == 0)
      done.results.push_back({slice.sequence, {7}, !prompt, false, {}});
    if (!prompt)
      continue;
    progress_[{key, rank}] = {slice.start + slice.count, slice.kind == slice_kind::last_prefill};
    say_ready(name, rank, slice.sequence);
  }
  tell("compute " + name + "." + std::to_string(rank.value), group, done);
}

void conversation::say_ready(const std::string& group, rank_id rank, const sequence_id& sequence) {
  const progress& p = progress_.at({{group, sequence}, rank});
  const source_ready ready{sequence, p.tokens, p.resume ? packed_floats{{1.0F}} : packed_floats{}};
  for (auto& [lane, feed] : feeds_)
    if (feed.opened.sequence == sequence && lane.source == rank
        && !std::holds_alternative<feed::nascent>(feed.state))
      tell("compute " + group + "." + std::to_string(rank.value), feed, ready);
}

/// A feed that begins late is told how far its rank has come.
void conversation::watch(feed_party& feed) {
  const auto key = std::make_pair(sequence_key{source_group(), feed.opened.sequence},
                                  feed.opened.lane.source);
  if (progress_.count(key) > 0)
    say_ready(source_group(), key.second, feed.opened.sequence);
}

// ---- transfer: the destination is the mover -----------------------------------------------------

void conversation::offer(feed_party& feed, std::uint32_t piece) {
  const lane_id lane = feed.opened.lane;
  check_computed(feed, piece);
  send_far("transfer P7." + std::to_string(lane.source.value), "transfer D3", "offer",
           [this, lane, piece] { receive(lane, piece); });
}

/// An offer of a piece that is on its way or has landed is a repetition: nothing is received.
void conversation::receive(const lane_id& lane, std::uint32_t piece) {
  table_entry& entry = table_.at(lane);
  feed_party& feed = feeds_.at(lane);
  if (entry.now != table_entry::phase::open || entry.received) {
    tell_far("transfer D3", feed,
             offer_rejected{lane, piece, {reason::not_found, "no such lane"}});
    return;
  }
  if (!entry.accepted.insert(piece).second)
    return;
  ++entry.receives;
  send("transfer D3", "receive of piece " + std::to_string(piece) + " of " + feed.name, "landed",
       [this, lane, piece] { land(lane, piece); });
}

void conversation::land(const lane_id& lane, std::uint32_t piece) {
  table_entry& entry = table_.at(lane);
  const feed_party& feed = feeds_.at(lane);
  lane_party& to = lanes_.at(lane);
  block_ref block;
  if (piece < to.opened.blocks.size()) {
    block = to.opened.blocks[piece];
    check_reading("I2: a landing", "D3", {block});
    check_reading("I14: a read", memory_of("P7"), {feed.opened.source_blocks[piece]});
  }
  --entry.receives;
  const std::uint64_t digest = 5 + (setup_.states_differ ? lane.source.value : 0U);
  for (int times = setup_.landings_repeated ? 2 : 1; times > 0; --times)
    tell("transfer D3", to, piece_landed{lane, piece, block, 64, digest});
  quiesce_if_idle(lane);
}

void conversation::revoke(lane_party& lane) {
  table_entry& entry = table_.at(lane.opened.lane);
  entry.now = table_entry::phase::stopping;
  quiesce_if_idle(lane.opened.lane);
}

void conversation::quiesce_if_idle(const lane_id& lane) {
  table_entry& entry = table_.at(lane);
  if (entry.now != table_entry::phase::stopping || entry.receives > 0)
    return;
  entry.now = table_entry::phase::stopped;
  if (written_[lane.destination].reader_ended(lane, now_))
    tell("transfer D3", lanes_.at(lane), receives_quiesced{lane});
  else
    ask_writers(lane.destination);
  notify_source(lane);
}

/// The receipt, or the word that nothing is read any more. When it is lost it is asked for again.
void conversation::notify_source(const lane_id& lane) {
  const auto feed = feeds_.find(lane);
  if (feed == feeds_.end())
    return; // the source has not opened its end
  if (table_.at(lane).received)
    tell_far("transfer D3", feed->second, receipt_arrived{lane});
  else
    tell_far("transfer D3", feed->second, reader_stopped{lane});
}

void conversation::answer_query(const lane_id& lane) {
  const table_entry& entry = table_.at(lane);
  if (entry.received || entry.now == table_entry::phase::stopped)
    notify_source(lane);
}

} // namespace baton::tests
