// A cluster file: which groups exist, what they compute with, and every bound that an operator may
// set. Text in, checked values out; reading the file is the caller's.
//
//   cluster.json ──parse_cluster──▶ cluster_config ──resolved──▶ the same with every default
#pragma once

#include "protocol/head_map.hpp"
#include "protocol/limits.hpp"
#include "protocol/outcome.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace baton::protocol {

/// How payload moves between groups. `in_place`: it does not, the prefill ranks compute into the
/// memory of the decode ranks. `loopback`: inside one process, for tests.
enum class hand_off_path : std::uint8_t { pull, shared_arena, in_place, loopback };
/// Which pieces are digested, and checked where they land: none, one in 16, each.
enum class integrity_check : std::uint8_t { off, sampled, all };
enum class kv_dtype : std::uint8_t { f32, bf16 };
enum class group_role : std::uint8_t { prefill, decode, mixed };

/// What UCX must use on every channel; `any`: what it likes.
enum class ucx_transport : std::uint8_t { any, cma, shared_memory, tcp };

const char* to_string(hand_off_path p);
const char* to_string(ucx_transport t);
const char* to_string(integrity_check c);
const char* to_string(kv_dtype t);
const char* to_string(group_role r);

struct kv_config {
  kv_dtype dtype = kv_dtype::bf16;
  std::uint32_t block_tokens = 16;

  static constexpr const char* type = "kv_config";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("dtype", s.dtype), field("block_tokens", s.block_tokens));
  }
};

/// A model folder. Relative paths are relative to the working directory of the nodes.
struct llama_executor {
  std::string model;
  std::uint32_t threads = 1;

  static constexpr const char* type = "llama";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("model", s.model), field("threads", s.threads));
  }
};

/// Any geometry without weights; the defaults are the teaching shape.
struct synthetic_executor {
  std::uint32_t layers = 80;
  std::uint32_t kv_heads = 8;
  std::uint32_t heads = 64;
  std::uint32_t head_dim = 128;
  std::uint32_t hidden = 8192;
  std::uint32_t vocab = 32'000;
  std::uint32_t max_positions = 65'536;
  std::uint32_t prefill_us_per_token = 0;
  std::uint32_t decode_us_per_step = 0;

  static constexpr const char* type = "synthetic";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(
      field("layers", s.layers), field("kv_heads", s.kv_heads), field("heads", s.heads),
      field("head_dim", s.head_dim), field("hidden", s.hidden), field("vocab", s.vocab),
      field("max_positions", s.max_positions),
      field("prefill_us_per_token", s.prefill_us_per_token),
      field("decode_us_per_step", s.decode_us_per_step));
  }
};

using executor_config = std::variant<llama_executor, synthetic_executor>;

/// Size of a group's pool, all ranks together: in blocks of the whole model, or in bytes.
struct pool_blocks {
  std::uint32_t blocks = 0;

  static constexpr const char* type = "pool_blocks";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("blocks", s.blocks));
  }
};

struct pool_bytes {
  std::uint64_t bytes = 0;

  static constexpr const char* type = "pool_bytes";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("bytes", s.bytes));
  }
};

using pool_size = std::variant<pool_blocks, pool_bytes>;

struct group_config {
  group_name name;
  group_role role = group_role::mixed;
  std::uint16_t ranks = 1;
  pool_size pool;
  std::uint32_t decode_slots = 0;         ///< 0 for a prefill group
  std::uint32_t prefill_chunk_tokens = 0; ///< 0 for a decode group
  std::optional<std::uint32_t> quarantine_blocks; ///< none: quarantine_percent_max of the pool
  executor_config executor; ///< the group's own, or the cluster's
  kv_config kv;             ///< the group's own, or the cluster's

  static constexpr const char* type = "group_config";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(
      field("name", s.name), field("role", s.role), field("ranks", s.ranks),
      field("pool", s.pool), field("decode_slots", s.decode_slots),
      field("prefill_chunk_tokens", s.prefill_chunk_tokens),
      field("quarantine_blocks", s.quarantine_blocks), field("executor", s.executor),
      field("kv", s.kv));
  }
};

struct lease_config {
  std::int64_t ms_min = limits::lease_ms_min;
  std::int64_t ms_max = limits::lease_ms_max;
  std::uint64_t assumed_bytes_per_s = limits::assumed_bytes_per_s; ///< until the link is measured

  static constexpr const char* type = "lease_config";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("ms_min", s.ms_min), field("ms_max", s.ms_max),
                           field("assumed_bytes_per_s", s.assumed_bytes_per_s));
  }
};

/// What admission and leases assume of every group until it is measured.
struct costs_config {
  std::int64_t prefill_us_per_token = limits::assumed_prefill_us_per_token;
  std::int64_t decode_us_per_token = limits::assumed_decode_us_per_token; ///< of one sequence

  static constexpr const char* type = "costs_config";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("prefill_us_per_token", s.prefill_us_per_token),
                           field("decode_us_per_token", s.decode_us_per_token));
  }
};

struct tenant_config {
  tenant_name name;
  std::uint32_t requests_open_max = limits::tenant_requests_open_default;
  /// Prompt and output budget of one request.
  std::uint32_t tokens_per_request_max = limits::prompt_tokens_max + limits::output_tokens_max;

  static constexpr const char* type = "tenant_config";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("name", s.name), field("requests_open_max", s.requests_open_max),
                           field("tokens_per_request_max", s.tokens_per_request_max));
  }
};

/// Control ports: node i of nodes() has base + i; 0: each is chosen at start.
struct ports_from_base {
  std::uint16_t base = 0;

  static constexpr const char* type = "ports_from_base";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("base", s.base));
  }
};

/// A port for each node by name; 0, or no entry: chosen at start.
struct ports_by_node {
  std::vector<std::pair<node_name, std::uint16_t>> ports;

  static constexpr const char* type = "ports_by_node";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("ports", s.ports));
  }
};

using port_plan = std::variant<ports_from_base, ports_by_node>;

/// What a path was measured to give when the cluster was started, or why it cannot be taken.
struct path_cost {
  hand_off_path path = hand_off_path::pull;
  ucx_transport transport = ucx_transport::any; ///< of pull
  std::uint64_t bytes_per_s = 0;                ///< 0: nothing moves, or it cannot be taken
  std::string refused;                          ///< ""; or why

  static constexpr const char* type = "path_cost";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("path", s.path), field("transport", s.transport),
                           field("bytes_per_s", s.bytes_per_s), field("refused", s.refused));
  }
};

struct cluster_config {
  std::string name;
  std::string host = "127.0.0.1";
  port_plan ports;
  hand_off_path path = hand_off_path::pull;
  bool measures_path = false; ///< `path` is still to be chosen (protocol/path_choice.hpp)
  std::optional<hand_off_path> prefer; ///< taken where it can be, whatever others cost
  ucx_transport transport = ucx_transport::any;
  std::vector<path_cost> path_costs; ///< what it was chosen by
  integrity_check integrity = integrity_check::all;
  kv_config kv;
  std::optional<executor_config> executor; ///< none: each group names its own
  std::vector<group_config> groups;
  lease_config lease;
  costs_config costs;
  std::int64_t retention_ms = 0;
  std::uint64_t inflight_bytes = limits::inflight_bytes_default;
  std::uint64_t offer_window_bytes = limits::offer_window_bytes_default;
  std::int64_t heartbeat_ms = limits::heartbeat_ms_default;
  std::int64_t peer_timeout_ms = limits::peer_timeout_ms_default;
  bool allow_faults = false;
  std::vector<tenant_config> tenants;
  bool trace = true;

  static constexpr const char* type = "cluster_config";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(
      field("name", s.name), field("host", s.host), field("ports", s.ports),
      field("path", s.path), field("measures_path", s.measures_path), field("prefer", s.prefer),
      field("transport", s.transport), field("path_costs", s.path_costs),
      field("integrity", s.integrity), field("kv", s.kv), field("executor", s.executor),
      field("groups", s.groups), field("lease", s.lease), field("costs", s.costs),
      field("retention_ms", s.retention_ms), field("inflight_bytes", s.inflight_bytes),
      field("offer_window_bytes", s.offer_window_bytes), field("heartbeat_ms", s.heartbeat_ms),
      field("peer_timeout_ms", s.peer_timeout_ms), field("allow_faults", s.allow_faults),
      field("tenants", s.tenants), field("trace", s.trace));
  }
};

/// Parses and checks a cluster file. bad_input: "cluster.json: groups[1].ranks: expected 1, 2 or 4,
/// got 3". `known_fields`, when given, receives every field that the parser asked for.
outcome<cluster_config> parse_cluster(const std::string& text, const std::string& file_name,
                                      std::set<std::string>* known_fields = nullptr);

/// The file that says the same with every default written out; parse_cluster reads it back equal.
std::string resolved(const cluster_config& config);

/// One process of the cluster. The router has no group.
struct cluster_node {
  node_name name;
  std::optional<group_name> group;
  rank_id rank;
  std::uint16_t port = 0; ///< 0: chosen at start
};

/// "router" first, then "<group>.<rank>" in file order.
std::vector<cluster_node> nodes(const cluster_config& config);
node_name node_of(const group_name& group, rank_id rank);

/// Null when there is no such group or tenant.
const group_config* find_group(const cluster_config& config, const group_name& name);
const tenant_config* find_tenant(const cluster_config& config, const tenant_name& name);

/// Blocks of a pool when one block of the whole model has `block_bytes` (all ranks): the given
/// number, or the given bytes rounded down to blocks.
std::uint32_t blocks_of_pool(const pool_size& pool, std::uint64_t block_bytes);

/// The group's quarantine budget in a pool of `pool` blocks: its own, else
/// quarantine_percent_max of the pool, at least one block.
std::uint32_t quarantine_blocks_of(const group_config& group, std::uint32_t pool);

} // namespace baton::protocol
