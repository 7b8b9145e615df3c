#include "actors/rank_hardware.hpp"

#include "actors/run_directory.hpp"
#include "gpu/cpu/cpu_device.hpp"
#include "gpu/cpu/llama_executor.hpp"
#include "gpu/synthetic_executor.hpp"
#include "protocol/cluster_config_check.hpp"
#include "transport/ucx.hpp"

#include <algorithm>
#include <filesystem>

namespace baton::actors {

using namespace protocol;

struct rank_hardware::llama_parts {
  std::shared_ptr<const gpu::model> model;
  gpu::rank_options options;
};

namespace {

constexpr const char* kv_layout = "block[layer][k|v][kv_head][token][head_dim]";

gpu::rank_options options_of(const group_config& group, rank_id rank, std::uint32_t threads) {
  gpu::rank_options o;
  o.tp_rank = rank.value;
  o.tp_degree = group.ranks;
  o.kv = group.kv.dtype == kv_dtype::f32 ? gpu::kv_dtype::f32 : gpu::kv_dtype::bf16;
  o.block_tokens = group.kv.block_tokens;
  o.threads = threads;
  return o;
}

gpu::geometry synthetic_shape(const group_config& group, const synthetic_executor& e,
                              rank_id rank) {
  gpu::geometry g;
  g.layers = e.layers;
  g.heads = e.heads;
  g.kv_heads = e.kv_heads;
  g.head_dim = e.head_dim;
  g.hidden = e.hidden;
  g.vocab = e.vocab;
  g.max_positions = e.max_positions;
  g.block_tokens = group.kv.block_tokens;
  g.kv_element_bytes = group.kv.dtype == kv_dtype::f32 ? 4 : 2;
  g.tp_rank = rank.value;
  g.tp_degree = group.ranks;
  return g;
}

void describe_shape(model_identity& m, const group_config& group, const gpu::geometry& g) {
  m.layers = g.layers;
  m.kv_heads = g.kv_heads;
  m.head_dim = g.head_dim;
  m.hidden = g.hidden;
  m.dtype = to_string(group.kv.dtype);
  m.block_tokens = g.block_tokens;
  m.layout = kv_layout;
  m.batch_invariant = true;
  m.compute_dtype = "f32";
}

/// Null for a folder without one: such a model takes token ids only.
outcome<std::shared_ptr<const gpu::tokenizer>> tokenizer_of(const std::string& folder,
                                                            std::uint32_t vocab) {
  auto found = gpu::open_tokenizer(folder, vocab);
  if (!found && found.error().why == reason::not_found)
    return std::shared_ptr<const gpu::tokenizer>{};
  return found;
}

/// The other group of a cluster of two.
const group_config& peer_group(const cluster_config& cluster, const group_config& group) {
  return cluster.groups[0].name == group.name ? cluster.groups[1] : cluster.groups[0];
}

transport::path_kind kind_of(hand_off_path path) {
  switch (path) {
  case hand_off_path::pull: return transport::path_kind::pull;
  case hand_off_path::shared_arena: return transport::path_kind::shared_arena;
  case hand_off_path::in_place: return transport::path_kind::in_place;
  case hand_off_path::loopback: break;
  }
  return transport::path_kind::loopback;
}

transport::integrity check_of(integrity_check asked) {
  switch (asked) {
  case integrity_check::off: return transport::integrity::off;
  case integrity_check::sampled: return transport::integrity::sampled;
  case integrity_check::all: break;
  }
  return transport::integrity::all;
}

transport::endpoint_limits limits_of(const cluster_config& cluster) {
  transport::endpoint_limits l;
  l.inflight_bytes_max = cluster.inflight_bytes;
  l.offer_window_bytes = cluster.offer_window_bytes;
  return l;
}

/// A receive takes its bytes of the budget, and as many again where it is staged: when the sender
/// has fewer heads, so that its part lies here and there in our block. If no part may land, no
/// request ever will.
failure check_inflight(const cluster_config& cluster, const group_config& group,
                       const gpu::geometry& shape) {
  if (cluster.path != hand_off_path::pull || group.role == group_role::prefill)
    return {};
  const transport::endpoint_limits limits = limits_of(cluster);
  std::uint64_t need = 0;
  for (const group_config& from : cluster.groups)
    if (from.role == group_role::prefill) {
      const std::uint64_t block = gpu::block_bytes(shape) * group.ranks
                                  / std::max(group.ranks, from.ranks);
      need = std::max(need, std::min(block, limits.message_bytes_max)
                              * (from.ranks > group.ranks ? 2 : 1));
    }
  if (need <= limits.inflight_bytes_max)
    return {};
  return {reason::bad_input, "cluster.json: inflight_bytes: expected at least "
                               + std::to_string(need) + ", which one part of a block takes in "
                               + group.name.value + ", got "
                               + std::to_string(limits.inflight_bytes_max)};
}

} // namespace

rank_hardware::rank_hardware(node_context& node)
  : node_(node), compute_port_(node, node.name.value + ":device"),
    transfer_port_(node, node.name.value + ":endpoint") {}

rank_hardware::~rank_hardware() {
  // No event may reach an actor that is gone, and no device may outlive the memory it works on.
  compute_port_.detach();
  transfer_port_.detach();
  endpoint_.reset();
  device_.reset();
}

outcome<std::unique_ptr<rank_hardware>> rank_hardware::start(node_context& node,
                                                             const std::string& run_id,
                                                             transport::hub& hub) {
  std::unique_ptr<rank_hardware> made{new rank_hardware(node)};
  const group_config& group = *node.group;
  if (failure why = made->load_model(group))
    return why;
  if (failure why = made->make_arena(group))
    return why;
  if (failure why = made->join_group(group, run_id))
    return why;
  if (failure why = made->make_device(group))
    return why;
  if (failure why = made->make_endpoint(hub))
    return why;
  return made;
}

failure rank_hardware::load_model(const group_config& group) {
  if (const auto* synthetic = std::get_if<synthetic_executor>(&group.executor)) {
    shape_ = synthetic_shape(group, *synthetic, node_.rank);
    identity_.model = identity_.weights_digest = identity_.tokenizer_digest = "synthetic";
    identity_.rope = identity_.attention_backend = "synthetic";
    describe_shape(identity_, group, shape_);
    return {};
  }
  const auto& config = std::get<llama_executor>(group.executor);
  auto model = gpu::model::load(config.model);
  if (!model)
    return model.error();
  const auto tokenizer = tokenizer_of(config.model, model.value()->config().vocab);
  if (!tokenizer)
    return tokenizer.error();
  llama_ = std::make_unique<llama_parts>();
  llama_->model = model.value();
  llama_->options = options_of(group, node_.rank, config.threads);
  auto shape = gpu::rank_geometry(llama_->model->config(), llama_->options);
  if (!shape)
    return shape.error();
  shape_ = shape.value();
  eos_ = llama_->model->config().eos;
  if (eos_.empty() && tokenizer.value())
    eos_ = tokenizer.value()->eos();
  identity_.model = std::filesystem::path(config.model).filename().string();
  identity_.weights_digest = llama_->model->weights_digest();
  identity_.tokenizer_digest = tokenizer.value() ? tokenizer.value()->digest() : "none";
  identity_.rope = llama_->model->kv_description();
  identity_.attention_backend = "cpu_fixed_order";
  describe_shape(identity_, group, shape_);
  return {};
}

/// In place a prefill rank has no blocks of its own: it works on those of its peer, which it maps
/// once it has met it. The groups' layouts are equal, so that one geometry tells both sizes.
failure rank_hardware::make_arena(const group_config& group) {
  const hand_off_path path = node_.cluster.path;
  const bool maps = path == hand_off_path::in_place && group.role == group_role::prefill;
  const group_config& owner = maps ? peer_group(node_.cluster, group) : group;
  for (const group_config* g : {&group, &owner})
    if (const std::string why = wrong_pool(g->pool, block_bytes()); !why.empty())
      return {reason::bad_input, "cluster.json: groups." + g->name.value + ".pool_bytes: " + why};
  const std::uint32_t blocks = blocks_of_pool(owner.pool, block_bytes());
  const std::uint64_t bytes = blocks * gpu::block_bytes(shape_);
  const bool shared = path == hand_off_path::shared_arena || path == hand_off_path::in_place;
  auto arena = maps     ? transport::arena::reserve_window(bytes)
               : shared ? transport::arena::create_shared(bytes)
                        : transport::arena::create_private(bytes);
  if (!arena)
    return arena.error();
  arena_.emplace(std::move(arena.value()));
  arena_view_ = {arena_->base(), blocks};
  maps_peer_ = maps;
  return {};
}

failure rank_hardware::join_group(const group_config& group, const std::string& run_id) {
  if (group.ranks == 1 || !llama_)
    return {};
  gpu::collective_limits limits;
  limits.wait_ms = limits::group_form_wait_ms_max;
  auto joined = gpu::join_shared_group(group_memory_name(run_id, group.name), node_.rank.value,
                                       group.ranks, limits);
  if (!joined)
    return joined.error();
  group_ = std::move(joined.value());
  return {};
}

failure rank_hardware::make_device(const group_config& group) {
  outcome<std::unique_ptr<gpu::executor>> executor = failure{reason::internal, "no executor"};
  if (llama_) {
    executor = gpu::make_llama_executor(llama_->model, llama_->options, arena_view_, group_.get());
  } else {
    const auto& synthetic = std::get<synthetic_executor>(group.executor);
    executor = gpu::make_synthetic_executor(
      {shape_, synthetic.prefill_us_per_token, synthetic.decode_us_per_step}, arena_view_);
  }
  if (!executor)
    return executor.error();
  device_ = gpu::make_cpu_device(
    std::move(executor.value()),
    [this](gpu::device_event e) { compute_port_.deliver(std::move(e)); });
  return {};
}

failure rank_hardware::make_endpoint(transport::hub& hub) {
  const auto& cluster = node_.cluster;
  if (failure why = check_inflight(cluster, *node_.group, shape_))
    return why;
  const auto limits = limits_of(cluster);
  const auto check = check_of(cluster.integrity);
  auto sink = [this](transport::transfer_event e) { transfer_port_.deliver(std::move(e)); };
  auto made = cluster.path == hand_off_path::loopback
                ? transport::make_loopback(hub, node_.name, node_.life, *arena_, limits, sink,
                                           check)
                : transport::make_ucx(kind_of(cluster.path), node_.life, *arena_, limits, sink,
                                      check);
  if (!made)
    return made.error();
  endpoint_ = std::move(made.value());
  return {};
}

std::uint32_t rank_hardware::pool_blocks() const {
  return blocks_of_pool(node_.group->pool, block_bytes());
}

compute_setup rank_hardware::compute() const {
  return {shape_, arena_view_, eos_, llama_ == nullptr, maps_peer_, device_.get()};
}

transfer_setup rank_hardware::transfer() {
  const block_shape blocks{shape_.layers, shape_.kv_heads, shape_.head_dim, shape_.block_tokens,
                           shape_.kv_element_bytes};
  return {blocks,      shape_.tp_degree, gpu::block_bytes(shape_), endpoint_.get(), &*arena_,
          maps_peer_};
}

outcome<prompt_reader> open_prompt_reader(const cluster_config& cluster) {
  const executor_config& executor
    = cluster.executor ? *cluster.executor : cluster.groups.front().executor;
  if (const auto* synthetic = std::get_if<synthetic_executor>(&executor))
    return prompt_reader{nullptr, synthetic->vocab, synthetic->max_positions};
  const std::string& folder = std::get<llama_executor>(executor).model;
  auto config = gpu::read_config(folder + "/config.json");
  if (!config)
    return config.error();
  const auto tokenizer = tokenizer_of(folder, config.value().vocab);
  if (!tokenizer)
    return tokenizer.error();
  return prompt_reader{tokenizer.value(), config.value().vocab, config.value().max_positions};
}

} // namespace baton::actors
