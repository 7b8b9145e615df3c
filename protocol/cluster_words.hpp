// The words of a cluster file for its choices: one table serves parsing, writing and messages.
#pragma once

#include "protocol/cluster_config.hpp"
#include "protocol/json_object.hpp"

namespace baton::protocol {

inline constexpr json_word<hand_off_path> path_words[] = {
  {"pull", hand_off_path::pull},
  {"shared_arena", hand_off_path::shared_arena},
  {"in_place", hand_off_path::in_place},
  {"loopback", hand_off_path::loopback},
};

/// What a cluster file may ask for: a path, or that one is chosen when the cluster is started.
enum class asked_path : std::uint8_t { pull, shared_arena, in_place, loopback, measured };
inline constexpr json_word<asked_path> asked_path_words[] = {
  {"pull", asked_path::pull},
  {"shared_arena", asked_path::shared_arena},
  {"in_place", asked_path::in_place},
  {"loopback", asked_path::loopback},
  {"measured", asked_path::measured},
};

/// Those that are measured; nobody prefers a path of tests.
inline constexpr json_word<hand_off_path> preferred_path_words[] = {
  {"in_place", hand_off_path::in_place},
  {"shared_arena", hand_off_path::shared_arena},
  {"pull", hand_off_path::pull},
};

inline constexpr json_word<ucx_transport> transport_words[] = {
  {"any", ucx_transport::any},
  {"cma", ucx_transport::cma},
  {"shared_memory", ucx_transport::shared_memory},
  {"tcp", ucx_transport::tcp},
};

inline constexpr json_word<integrity_check> integrity_words[] = {
  {"off", integrity_check::off},
  {"sampled", integrity_check::sampled},
  {"all", integrity_check::all},
};

inline constexpr json_word<kv_dtype> dtype_words[] = {
  {"f32", kv_dtype::f32},
  {"bf16", kv_dtype::bf16},
};

inline constexpr json_word<group_role> role_words[] = {
  {"prefill", group_role::prefill},
  {"decode", group_role::decode},
  {"mixed", group_role::mixed},
};

} // namespace baton::protocol
