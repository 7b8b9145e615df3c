// The layers of one plan, all slices' tokens as rows of one batch.
//
//   tokens ─embed─▶ x ─┬─norm─▶ qkv ─RoPE─▶ KV cache ─attend─▶ out ─(4 quarters)─▶ sum ─┐
//                      └───────────────────────── + ◀──────────────────────────────────┘
//                      ┬─norm─▶ gate, up ─SwiGLU─▶ down ─(4 quarters)─▶ sum ─┐
//                      └──────────────────── + ◀────────────────────────────┘   ... ─norm─▶ LM head
#pragma once

#include "gpu/cpu/collective.hpp"
#include "gpu/cpu/rank_weights.hpp"
#include "gpu/cpu/thread_pool.hpp"
#include "gpu/device.hpp"

#include <memory>
#include <vector>

namespace baton::gpu {

/// Owns the buffers that are reused from plan to plan. Plans must have passed check_plan.
class forward_pass {
public:
  forward_pass(std::shared_ptr<const rank_weights> weights, kv_arena arena, collective* group,
               std::size_t threads);

  /// Runs the plan; results in the order of the slices. Fails only when the group is poisoned.
  protocol::outcome<std::vector<slice_result>> run(const step_plan& plan);

private:
  /// One token of the plan.
  struct row {
    const slice* from = nullptr;
    std::uint32_t position = 0;
  };
  /// One distribution that the plan asks for: the state it comes from and whose it is.
  struct head_row {
    const float* state = nullptr; ///< float[hidden], before the final norm
    std::size_t slice = 0;
  };

  void lay_out(const step_plan& plan);
  void normalise(const std::vector<float>& weight);
  void rotate_and_store(std::uint32_t layer);
  void store(std::uint32_t layer, const row& at, const float* keys, const float* values);
  void attend(std::uint32_t layer);
  protocol::failure attention_block(const step_plan& plan, std::uint32_t layer);
  protocol::failure mlp_block(const step_plan& plan, std::uint32_t layer);
  /// Multiplies by this rank's quarters, sums over quarters and ranks and adds to x.
  protocol::failure add_row_parallel(const std::vector<packed_matrix>& quarters, const float* input,
                                     const schedule& at);
  protocol::outcome<std::vector<slice_result>> finish(const step_plan& plan);
  /// Fills logits_, float[states][vocab]: on every rank.
  protocol::failure compute_logits(const step_plan& plan, const std::vector<head_row>& states);
  std::byte* cache(std::uint32_t block, std::uint32_t layer, std::uint32_t which) const;

  std::shared_ptr<const rank_weights> weights_;
  geometry shape_;
  kv_arena arena_;
  collective* group_;
  thread_pool pool_;
  std::vector<double> frequencies_; ///< [head_dim / 2] radians per position

  std::vector<row> rows_;
  std::uint32_t longest_ = 0;     ///< positions that the plan's longest sequence attends to
  std::vector<float> x_;          ///< [rows][hidden] residual stream
  std::vector<float> normed_;     ///< [rows][hidden]
  std::vector<float> angles_;     ///< [rows][2][head_dim / 2] cosines, sines
  std::vector<float> projected_;  ///< [rows][padded q|k|v] then [rows][padded gate|up]
  std::vector<float> attended_;   ///< [rows][heads * head_dim] of this rank
  std::vector<float> activated_;  ///< [rows][intermediate] of this rank
  std::vector<std::vector<float>> partials_; ///< [quarters of this rank][rows][padded hidden]
  std::vector<float> strips_;
  std::vector<std::vector<float>> scores_; ///< [threads] scratch of attend
  std::vector<float> share_;    ///< [states][vocab share] of this rank
  std::vector<float> gathered_; ///< [ranks][states][vocab share]
  std::vector<float> logits_;   ///< [states][vocab]
};

} // namespace baton::gpu
