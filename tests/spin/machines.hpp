// The machines of protocol/ that hand_off.pml models, stepped by the names of the model's steps:
// one request, one pool of two blocks, its reservations and their lanes. It decides nothing. It
// turns a name into the event that our machine would hear, and says no when no machine of ours has
// said that word.
#pragma once

#include "protocol/block_pool.hpp"
#include "protocol/lane.hpp"
#include "protocol/lane_floor.hpp"
#include "protocol/request.hpp"
#include "protocol/reservation.hpp"
#include "tests/spin/model_step.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace baton::tests::spin {

class machines {
public:
  /// Takes the step with our machines. Returns why they did not do what the model did: a word that
  /// was never said, a broken assertion, another answer, or another state; empty when they agree.
  std::string take(const model_step& step);

private:
  static constexpr std::uint32_t reservations = 3;
  static constexpr std::uint32_t lanes_each = 2;

  struct reservation_party {
    protocol::reserve_request asked;
    protocol::grant granted;
    protocol::reservation::state state;
    std::set<std::string> said; ///< types of the effects so far
    bool lease_over = false;
  };
  struct lane_party {
    std::optional<protocol::open_lane> opening; ///< said by the reservation
    std::optional<protocol::stop_lane> stopping; ///< likewise
    protocol::lane::state state;
    std::set<std::string> said;
    bool closed = false; ///< stopped before it was opened: the floor forbids it
  };
  using answer = std::string;

  answer act(const model_step& step);
  answer act_on_request(const std::string& what, std::uint32_t attempt);
  answer act_on_reservation(const std::string& what, std::uint32_t number);
  answer act_on_lane(const std::string& what, std::uint32_t lane, std::uint32_t piece);
  answer hear_of_lane(const std::string& what, std::uint32_t lane);

  answer begin(std::uint32_t blocks);
  answer reserve(const std::string& what, std::uint32_t attempt);
  answer give_up(std::uint32_t attempt);
  answer claim(const std::string& what, std::uint32_t number);
  answer commit(const std::string& what, std::uint32_t number);
  bool heeds_old_generations(std::uint32_t number, protocol::commit sent) const;
  answer reclaim(std::uint32_t number);
  answer land(std::uint32_t lane, std::uint32_t piece);
  answer fail_receive(const std::string& what, std::uint32_t lane, std::uint32_t piece);
  answer open(const std::string& what, std::uint32_t lane);
  answer stop(const std::string& what, std::uint32_t lane);

  /// Types of what was said, in order.
  std::vector<std::string> step_pool(const protocol::pool::event& event);
  std::vector<std::string> step_reservation(std::uint32_t number,
                                            const protocol::reservation::event& event);
  std::vector<std::string> step_lane(std::uint32_t lane, const protocol::lane::event& event);

  protocol::reserve_request ask(std::uint32_t attempt) const;
  protocol::manifest_offered offer(std::uint32_t number) const;
  protocol::lane_id id_of(std::uint32_t lane) const;
  std::vector<std::string> show() const;
  void show_pool(std::vector<std::string>& words) const;

  std::uint32_t blocks_ = 0; ///< of each attempt
  protocol::request::state request_;
  protocol::pool::state pool_;
  std::vector<reservation_party> reservations_;
  lane_party lanes_[reservations * lanes_each];
  protocol::lane_floor floors_[lanes_each]; ///< of each destination rank
  std::map<std::uint32_t, protocol::commit> commits_; ///< by attempt: sent, and on its way for ever
  std::set<std::uint32_t> given_up_;
};

} // namespace baton::tests::spin
