// What simulated groups compute with: a model of two layers, blocks of four tokens.
#pragma once

#include "tests/sim/catalogue.hpp"

namespace baton::sim {

inline constexpr std::uint32_t small_block_tokens = 4;
/// The resume state's place among a lane's pieces, whatever their number.
inline constexpr std::uint32_t resume_piece = 31;

protocol::model_identity small_model();

/// Request `index` with a prompt of so many blocks and an output budget of so many tokens.
struct request_plan {
  std::uint8_t prompt_blocks = 1;
  std::uint8_t output_tokens = 1;
  std::uint8_t retries = 0;
  bool waits = false; ///< for room in a pool
};
protocol::open_request small_request(std::uint16_t index, const request_plan& plan);

protocol::form_pool small_pool(const cluster_shape& shape, group_life g);

} // namespace baton::sim
