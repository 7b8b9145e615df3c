// How ranks that share memory find out whether the writer of a lane has stopped, as their transfer
// and compute devices do (protocol/mapped_lanes.hpp).
#include "tests/protocol/conversation_mail.hpp"

namespace baton::tests {

using namespace protocol;

namespace {

std::string source_rank(rank_id rank) { return "rank P7." + std::to_string(rank.value); }

} // namespace

// ---- destination

void conversation::ask_writers(rank_id destination) {
  const auto questions = written_[destination].questions();
  for (const auto& q : questions) {
    const ask_writer ask = q.ask;
    send_far("transfer D3", source_rank(ask.lane.source), ask.type,
             [this, ask] { take_at_source(ask); });
  }
  if (questions.empty() || !asking_.insert(destination).second)
    return;
  timers_.push_back({after_ms(now_, limits::evidence_wait_ms_max), "transfer D3: writers_due",
                     [this, destination] {
                       asking_.erase(destination);
                       ask_writers(destination);
                     },
                     [this, destination] {
                       const bool needless = written_[destination].questions().empty();
                       if (needless)
                         asking_.erase(destination);
                       return needless;
                     }});
}

// ---- source

std::uint32_t conversation::running(const attempt_id& attempt) const {
  std::uint32_t kernels = 0;
  for (const auto& [number, hold] : holds_) {
    const auto it = kernels_.find({"P7", hold.opened.sequence});
    if (hold.opened.asked.attempt == attempt && it != kernels_.end())
      kernels += it->second;
  }
  return kernels;
}

/// The pool of P7 is on another node than its rank 1; who finds the device at work is asked again.
void conversation::take_at_source(const ask_writer& e) {
  if (!writers_[e.lane.source].ask(e, {"D3"}))
    return;
  send_far(source_rank(e.lane.source), "pool P7", query_source::type, [this, e] {
    if (pools_.at("P7").state.holdings.count(e.hold.number) > 0)
      return;
    send_far("pool P7", source_rank(e.lane.source), source_released::type, [this, e] {
      lane_writers& writers = writers_[e.lane.source];
      if (writers.hold_gone(e.hold) && running(e.attempt) == 0)
        say_stopped(e.lane.source, writers.take(writing_ended{e.attempt}));
    });
  });
}

void conversation::end_at_rank(hold_party& hold, rank_id rank) {
  if (running(hold.opened.asked.attempt) == 0)
    say_stopped(rank, writers_[rank].take(sequence_ended{hold.opened.sequence}));
}

void conversation::say_stopped(rank_id rank, const std::vector<lane_writers::said>& all) {
  for (const auto& said : all) {
    const writer_stopped word{said.lane, sample_source(setup_.shape).ranks.at(rank.value)};
    send_far(source_rank(rank), "transfer D3", word.type, [this, word] {
      for (const lane_id& lane : written_[word.lane.destination].take(word))
        tell("transfer D3", lanes_.at(lane), receives_quiesced{lane});
    });
  }
}

} // namespace baton::tests
