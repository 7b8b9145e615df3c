// What stands for the network of a deterministic cluster: all that one node says to an actor of
// another one goes through a wire, an actor of its own that passes on when the schedule picks it.
// So words of different nodes, and words to different actors of one node, overtake each other.
// Those from one node to one actor keep their order, as on CAF's one connection between two nodes.
//
// A handle that travels, or a sender's, becomes the wire by which its new owner reaches that actor.
#pragma once

#include "actors/caf_compat.hpp"
#include "protocol/ids.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace baton::tests {

/// "open_lane" of a message with a header, a handle and an open_lane; "" of any other message.
std::string word_of(const caf::type_erased_tuple& message);

class wires {
public:
  /// Of the words between groups and the router, number `lost` is lost.
  wires(caf::actor_system& system, std::optional<std::uint32_t> lost)
    : system_(system), lost_(lost) {}

  /// By what an actor at `at` reaches one that somebody at `of` has a handle of: the actor itself
  /// when it lives at `at`.
  actors::handle between(const protocol::node_name& at, const protocol::node_name& of,
                         const actors::handle& actor);
  /// The type of the word that was lost; empty when none was.
  const std::string& lost_word() const { return lost_word_; }
  /// Ends all wires and lets go of what they lead to.
  void cut();

private:
  friend class wire;

  struct far_end {
    protocol::node_name home;
    actors::handle actor;
  };

  bool loses(const protocol::node_name& from, const protocol::node_name& to,
             const caf::message& word);

  caf::actor_system& system_;
  const std::optional<std::uint32_t> lost_;
  std::uint32_t words_ = 0;
  std::string lost_word_;
  std::map<std::pair<protocol::node_name, caf::actor_id>, actors::handle> spun_; ///< by far end
  std::map<caf::actor_id, far_end> far_ends_;                                    ///< by wire
};

} // namespace baton::tests
