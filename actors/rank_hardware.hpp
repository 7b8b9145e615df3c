// Everything of one rank's node that is not an actor: its memory, its devices, its end of the
// group's collectives. Made before the actors, destroyed after them.
#pragma once

#include "actors/device_port.hpp"
#include "actors/interfaces.hpp"
#include "gpu/cpu/collective.hpp"
#include "transport/arena.hpp"
#include "transport/loopback.hpp"

#include <memory>
#include <optional>
#include <string>

namespace baton::actors {

class rank_hardware {
public:
  /// Loads the group's model, sizes the pool, joins the group's collectives and starts the devices.
  /// `run_id`: names shared memory, random per start of the cluster. `hub`: for loopback paths.
  /// Errors name the file, field and reason; peer_lost when the group's other ranks do not come.
  static protocol::outcome<std::unique_ptr<rank_hardware>>
  start(node_context& node, const std::string& run_id, transport::hub& hub);

  ~rank_hardware();

  compute_setup compute() const;
  transfer_setup transfer();
  const protocol::model_identity& identity() const { return identity_; }
  transport::endpoint& endpoint() { return *endpoint_; }
  /// Blocks of the group's pool and bytes of one block on all ranks.
  std::uint32_t pool_blocks() const;
  std::uint64_t block_bytes() const { return gpu::block_bytes(shape_) * shape_.tp_degree; }

  device_port& compute_port() { return compute_port_; }
  device_port& transfer_port() { return transfer_port_; }

private:
  rank_hardware(node_context& node);

  protocol::failure load_model(const protocol::group_config& group);
  protocol::failure make_arena(const protocol::group_config& group);
  protocol::failure join_group(const protocol::group_config& group, const std::string& run_id);
  protocol::failure make_device(const protocol::group_config& group);
  protocol::failure make_endpoint(transport::hub& hub);

  node_context& node_;
  device_port compute_port_;
  device_port transfer_port_;
  struct llama_parts;
  std::unique_ptr<llama_parts> llama_; ///< null: synthetic
  protocol::model_identity identity_;
  gpu::geometry shape_;
  std::vector<std::int32_t> eos_;
  std::optional<transport::arena> arena_;
  gpu::kv_arena arena_view_;
  bool maps_peer_ = false; ///< in place: the arena is a window to the decode rank's
  std::unique_ptr<gpu::collective> group_;
  std::unique_ptr<gpu::device> device_;
  std::unique_ptr<transport::endpoint> endpoint_;
};

/// What the router needs of a model: its tokenizer and bounds.
protocol::outcome<prompt_reader> open_prompt_reader(const protocol::cluster_config& cluster);

} // namespace baton::actors
