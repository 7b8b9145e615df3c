// Is everything back? Asks of a cluster's status answers whether every pool is free again and no
// request-related actor is left. Pure: the client asks, this keeps the answers of one round.
#pragma once

#include "actors/status_messages.hpp"
#include "protocol/cluster_config.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace baton::actors {

class pools_watch {
public:
  /// Every node of the cluster must answer, and every group's pool.
  explicit pools_watch(const protocol::cluster_config& cluster);

  /// The next answers are of a new round. Those of the last are kept until somebody is silent.
  void begin_round();
  /// Who has not answered in this round has been asked, waited for, and is asked again.
  void note_silence() { silence_ = true; }

  void answered(const protocol::node_status& status);
  void answered(const protocol::pool_status& status);

  /// Everyone has answered in this round.
  bool complete() const { return unheard_nodes_.empty() && unheard_groups_.empty(); }
  /// Everyone has answered, and nothing is held anywhere.
  bool all_free() const { return complete() && left_over().empty(); }

  /// "P7 256/256 blocks, D3 256/256 blocks", in the order of the cluster file.
  std::string pools() const;

  /// What is still held and who has not answered, each in a few words.
  std::vector<std::string> left_over() const;

  /// One line for people: "pools: free = capacity (…), no actor left", or what is left.
  std::string describe() const;

private:
  struct answers {
    std::map<protocol::node_name, protocol::node_status> by_node;
    std::map<protocol::group_name, protocol::pool_status> by_group;
  };

  /// A round that is under way says nothing yet: the last whole one is what is known.
  const answers& known() const;

  std::vector<protocol::node_name> nodes_;
  std::vector<protocol::group_name> groups_;
  std::set<protocol::node_name> unheard_nodes_;
  std::set<protocol::group_name> unheard_groups_;
  answers now_;
  std::optional<answers> last_round_;
  bool silence_ = false;
};

} // namespace baton::actors
