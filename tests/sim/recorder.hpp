// Watches a simulated run and writes what each node's actors would have traced
// (actors/machine_actor.hpp): a record for each step of a machine, stepped once more for its
// effects.
#pragma once

#include "tests/sim/recording.hpp"

#include <map>
#include <unordered_map>

namespace baton::sim {

class recorder final : public run_observer, public world::observer {
public:
  world::observer* of_steps() override { return this; }
  void begins(world&) override {}
  void acts(const world& w, const action& a) override;
  void heals(const world&) override {}
  void stepped(const world& w, std::uint32_t who, std::uint32_t from, std::uint32_t before,
               std::uint32_t event, const reaction& made) override;
  void heard(const world& w, const address& rank, const world::writer_word& word) override;

  recording result(const run_result& run);

private:
  struct subject {
    protocol::request_id request;
    std::uint32_t attempt = 0;
  };

  template <kind K>
  void note(const world& w, const address& who, std::uint32_t from, std::uint32_t before,
            std::uint32_t event);
  template <kind K>
  void note_effects(const typename machine_of<K>::state& before,
                    const typename machine_of<K>::event& event, protocol::trace_record& record);
  template <class Event>
  subject about(const address& who, const Event& event);
  template <class Message>
  void at_client(const Message& message, const protocol::trace_record& cause);
  void submitted(const protocol::open_request& e, protocol::trace_record& opened);

  std::string label(const address& a) const;
  std::string node_name(const address& a) const;
  std::size_t section_of(const address& a);
  std::size_t open(const std::string& name, const protocol::incarnation& life);
  std::uint64_t own_id() { return (1ULL << 32) + ++own_ids_; } ///< beyond those of the world

  recording made_;
  cluster_shape shape_;
  std::map<std::pair<std::string, protocol::incarnation>, std::size_t> section_by_life_;
  std::map<std::uint8_t, std::vector<std::size_t>> up_; ///< sections of a group's present life
  std::unordered_map<std::uint32_t, subject> about_;
  std::unordered_map<std::uint64_t, std::int64_t> begin_by_id_; ///< when a message was handled
  std::map<protocol::attempt_id, std::uint64_t> commit_by_attempt_; ///< the message
  std::unordered_map<std::uint32_t, std::uint64_t> last_handled_; ///< message, by actor
  std::unordered_map<std::size_t, std::uint64_t> heard_of_writers_; ///< the last, by section
  std::unordered_map<std::uint32_t, std::uint32_t> hold_of_lane_;   ///< in place
  std::uint64_t own_ids_ = 0;
};

} // namespace baton::sim
