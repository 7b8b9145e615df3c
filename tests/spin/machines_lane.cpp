// The lane's half of tests/spin/machines.hpp.
#include "tests/spin/machines.hpp"

#include "tests/protocol/hand_off_samples.hpp"

#include <algorithm>

namespace baton::tests::spin {

using namespace protocol;

namespace {
const failure peer_lost{reason::peer_lost, "the receive called back with an error"};
const failure not_found{reason::not_found, "no such lane in the table"};
const std::string agreed;
} // namespace

std::vector<std::string> machines::step_lane(std::uint32_t lane, const lane::event& event) {
  auto result = lane::step(std::move(lanes_[lane].state), event, at_ms(1));
  lanes_[lane].state = std::move(result.state);
  std::vector<std::string> said;
  for (const auto& effect : result.effects)
    said.push_back(
      std::visit([](const auto& e) { return std::decay_t<decltype(e)>::type; }, effect));
  lanes_[lane].said.insert(said.begin(), said.end());
  return said;
}

std::string machines::act_on_lane(const std::string& what, std::uint32_t lane,
                                  std::uint32_t piece) {
  const auto hear = [&](const lane::event& event) {
    step_lane(lane, event);
    return agreed;
  };
  if (what == "open" || what == "open_again")
    return open(what, lane);
  if (what == "admitted" || what == "admitted_late")
    return hear(lane_admitted{id_of(lane)});
  if (what == "receive_posted") // the device's own: the lane hears of what has landed
    return reservations_.at(lane / lanes_each).said.count("transfer_opened") == 0
             ? "the source was never told that the transfer is open"
             : agreed;
  if (what == "landed" || what == "landed_late" || what == "landed_again")
    return land(lane, piece);
  if (what == "receive_failed" || what == "receive_failed_unheard")
    return fail_receive(what, lane, piece);
  if (what == "offer_late")
    return lanes_[lane].closed ? agreed : hear(offer_refused{id_of(lane), piece, not_found});
  if (what == "stopped")
    return hear(receives_quiesced{id_of(lane)});
  return stop(what, lane);
}

// The next two are the table in protocol/lane_floor.hpp: a rank knows a lane from its begin until
// it has stopped.

std::string machines::open(const std::string& what, std::uint32_t lane) {
  auto& party = lanes_[lane];
  if (!party.opening)
    return "the lane was never asked to open";
  const rank_id peer = id_of(lane).source;
  const bool known = !std::holds_alternative<lane::nascent>(party.state)
                     && !std::holds_alternative<lane::retired>(party.state);
  const bool begins
    = !known && floors_[lane % lanes_each].may_begin({peer}, party.opening->blocks.front());
  if (begins != (what == "open"))
    return begins ? "the lane opens" : "the lane does not open";
  if (known || begins)
    step_lane(lane, *party.opening);
  return agreed;
}

std::string machines::stop(const std::string& what, std::uint32_t lane) {
  auto& party = lanes_[lane];
  if (!party.stopping)
    return "the lane was never asked to stop";
  const bool begun = !std::holds_alternative<lane::nascent>(party.state);
  if (begun && what == "stop_unopened")
    return "the lane was opened";
  if (begun && !std::holds_alternative<lane::retired>(party.state)) {
    step_lane(lane, *party.stopping);
    return agreed;
  }
  floors_[lane % lanes_each].forbid(writer_of(id_of(lane)), party.stopping->fence);
  party.closed = !begun;
  return agreed;
}

/// I2 is asked of our own pool: what lands carries the present generation.
std::string machines::land(std::uint32_t lane, std::uint32_t piece) {
  const auto& granted = reservations_.at(lane / lanes_each).granted;
  const block_ref ref = granted.blocks.at(piece);
  const bool present = std::visit(
    overloaded{
      [](const pool::block_free&) { return false; },
      [&](const auto& b) { return b.gen == ref.gen; },
    },
    pool_.blocks.at(ref.block.value));
  step_lane(lane, piece_landed{id_of(lane), piece, ref, 1024, 0});
  return present ? agreed : "a piece lands in a block of another generation";
}

std::string machines::fail_receive(const std::string& what, std::uint32_t lane,
                                   std::uint32_t piece) {
  const auto said = step_lane(lane, offer_refused{id_of(lane), piece, peer_lost});
  if (what == "receive_failed_unheard")
    return agreed;
  if (std::find(said.begin(), said.end(), lane_failed::type) == said.end())
    return "the lane does not say that it failed";
  step_reservation(lane / lanes_each, lane_failed{id_of(lane), peer_lost});
  return agreed;
}

/// A word of the lane is heard only if the lane has said it.
std::string machines::hear_of_lane(const std::string& what, std::uint32_t lane) {
  const std::uint32_t number = lane / lanes_each;
  const auto& party = lanes_[lane];
  const auto heard = [&](const char* word, const reservation::event& event) -> std::string {
    if (party.said.count(word) == 0 && !(party.closed && std::string(word) == "lane_stopped"))
      return std::string("the lane never said ") + word;
    step_reservation(number, event);
    return agreed;
  };
  if (number >= reservations_.size())
    return "there is no such reservation";
  if (what == "heard_opened" || what == "heard_opened_again")
    return heard("lane_opened", lane_opened{id_of(lane)});
  if (what == "heard_landed" || what == "heard_landed_again")
    return heard("lane_landed", lane_landed{id_of(lane), 0});
  if (what == "heard_stopped" || what == "heard_stopped_again")
    return heard("lane_stopped", lane_stopped{id_of(lane)});
  if (what != "heard_lost" && what != "heard_lost_again")
    return "no word of ours has this name";
  step_reservation(number, lane_lost{id_of(lane), peer_lost});
  return agreed;
}

} // namespace baton::tests::spin
