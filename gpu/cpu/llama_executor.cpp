#include "gpu/cpu/llama_executor.hpp"

#include "gpu/cpu/forward_pass.hpp"
#include "gpu/cpu/plan_check.hpp"
#include "gpu/cpu/rank_weights.hpp"

#include <mutex>
#include <new>
#include <optional>

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::outcome;
using protocol::reason;

class llama_executor final : public executor {
public:
  llama_executor(std::shared_ptr<const rank_weights> weights, const plan_limits& limits,
                 kv_arena arena, collective* group, std::size_t threads)
    : limits_(limits), group_(group), pass_(std::move(weights), arena, group, threads) {}

  const geometry& shape() const override { return limits_.shape; }

  outcome<std::vector<slice_result>> run(const step_plan& plan) override {
    if (auto f = check_epoch(plan.epoch))
      return f;
    if (auto f = check_plan(plan, limits_))
      return f;
    try {
      return pass_.run(plan);
    } catch (const std::bad_alloc&) {
      // The other ranks wait for a part that will not come.
      if (group_ != nullptr)
        group_->poison("rank " + std::to_string(limits_.shape.tp_rank) + " is out of memory");
      return failure{reason::no_capacity, "not enough memory for the plan's activations"};
    }
  }

  void poison(std::uint64_t epoch, const std::string& why) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!ended_ || ended_->epoch < epoch)
        ended_ = ended_epoch{epoch, why};
    }
    if (group_ != nullptr)
      group_->poison(why);
  }

private:
  struct ended_epoch {
    std::uint64_t epoch = 0;
    std::string why;
  };

  failure check_epoch(std::uint64_t epoch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ended_ && epoch <= ended_->epoch)
      return {reason::group_poisoned, ended_->why};
    return {};
  }

  plan_limits limits_;
  collective* group_;
  forward_pass pass_;
  std::mutex mutex_;
  std::optional<ended_epoch> ended_;
};

failure check_group(const rank_options& options, const collective* group) {
  if (options.tp_degree == 1)
    return {};
  if (group == nullptr)
    return {reason::bad_input, "group: is required for tp_degree above 1"};
  if (group->ranks() != options.tp_degree || group->rank() != options.tp_rank)
    return {reason::bad_input, "group: is rank " + std::to_string(group->rank()) + " of "
                                 + std::to_string(group->ranks()) + ", options call for rank "
                                 + std::to_string(options.tp_rank) + " of "
                                 + std::to_string(options.tp_degree)};
  return {};
}

} // namespace

outcome<std::unique_ptr<executor>>
make_llama_executor(std::shared_ptr<const rank_weights> weights, const rank_options& options,
                    kv_arena arena, collective* group) {
  auto shape = rank_geometry(weights->source().config(), options);
  if (!shape)
    return shape.error();
  const geometry& packed = weights->shape();
  if (packed.tp_rank != options.tp_rank || packed.tp_degree != options.tp_degree
      || packed.block_tokens != options.block_tokens
      || packed.kv_element_bytes != shape.value().kv_element_bytes)
    return failure{reason::bad_input, "options: differ from those the weights were packed with"};
  if (auto f = check_group(options, group))
    return f;
  if (arena.base == nullptr || arena.blocks == 0)
    return failure{reason::bad_input, "arena: is empty"};
  if (options.threads == 0 || options.threads > 256)
    return failure{reason::bad_input,
                   "threads " + std::to_string(options.threads) + ": is not from 1 to 256"};
  const plan_limits limits{shape.value(), arena.blocks, options.rows_max};
  collective* used = options.tp_degree == 1 ? nullptr : group;
  return std::unique_ptr<executor>(
    new llama_executor(std::move(weights), limits, arena, used, options.threads));
}

outcome<std::unique_ptr<executor>>
make_llama_executor(std::shared_ptr<const model> source, const rank_options& options,
                    kv_arena arena, collective* group) {
  auto weights = pack_rank_weights(std::move(source), options);
  if (!weights)
    return weights.error();
  return make_llama_executor(std::move(weights.value()), options, arena, group);
}

} // namespace baton::gpu
