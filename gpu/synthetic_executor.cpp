#include "gpu/synthetic_executor.hpp"

#include "gpu/cpu/plan_check.hpp"
#include "gpu/synthetic_kv.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::outcome;
using protocol::reason;

/// float[hidden]: whole numbers below 2^20, so that every float format on the way keeps them.
std::vector<float> hidden_of(std::uint64_t context, std::uint32_t hidden) {
  std::vector<float> state(hidden);
  for (std::uint32_t i = 0; i < hidden; ++i)
    state[i] = static_cast<float>(mix(context + i) >> 44);
  return state;
}

/// The hash from which the next token follows: of the hidden state alone, because that is all that
/// a decode group gets.
std::uint64_t choice_of(const std::vector<float>& state, const slice& s, std::uint64_t position) {
  std::uint64_t hash = position;
  for (const float value : state)
    hash = mix(hash ^ static_cast<std::uint32_t>(value));
  const bool draws = s.sample && s.sample->temperature > 0.0F;
  return draws ? mix(hash ^ mix(s.sample->seed)) : hash;
}

failure check_context(const slice& s, const plan_limits& limits) {
  if (s.context.size() != s.start)
    return {reason::bad_input, "context: has " + std::to_string(s.context.size())
                                 + " tokens, start is " + std::to_string(s.start)};
  slice as_prompt;
  as_prompt.tokens = s.context;
  as_prompt.blocks = s.blocks;
  step_plan plan;
  plan.slices.push_back(std::move(as_prompt));
  return check_plan(plan, limits);
}

class synthetic_executor final : public executor {
public:
  synthetic_executor(const synthetic_options& options, kv_arena arena)
    : options_(options), limits_{options.shape, arena.blocks, options.rows_max},
      kv_(options.shape, arena) {}

  const geometry& shape() const override { return options_.shape; }

  outcome<std::vector<slice_result>> run(const step_plan& plan) override {
    const auto began = std::chrono::steady_clock::now();
    if (auto error = check(plan))
      return error;
    std::vector<slice_result> results;
    for (const auto& s : plan.slices) {
      auto result = s.resume.empty() ? compute(plan.epoch, s) : resume(plan.epoch, s);
      if (!result)
        return result.error();
      results.push_back(std::move(result.value()));
    }
    if (auto error = wait(plan.epoch, began + pretended_time(plan)))
      return error;
    return results;
  }

  void poison(std::uint64_t epoch, const std::string& why) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!ended_ || ended_->epoch < epoch)
      ended_ = ended_epoch{epoch, why};
    poisoned_.notify_all();
  }

private:
  struct ended_epoch {
    std::uint64_t epoch = 0;
    std::string why;
  };

  failure check(const step_plan& plan) {
    if (auto error = check_epoch(plan.epoch))
      return error;
    if (auto error = check_plan(plan, limits_))
      return error;
    for (const auto& s : plan.slices)
      if (!s.resume.empty() && !s.context.empty())
        if (auto error = check_context(s, limits_))
          return error;
    return {};
  }

  failure check_epoch(std::uint64_t epoch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return poison_of(epoch);
  }

  /// With the mutex held.
  failure poison_of(std::uint64_t epoch) const {
    if (ended_ && epoch <= ended_->epoch)
      return {reason::group_poisoned, ended_->why};
    return {};
  }

  std::vector<block_span> spans(const slice& s, std::uint32_t start, std::uint32_t end) const {
    return spans_of(s.blocks, start, end, options_.shape.block_tokens);
  }

  outcome<slice_result> compute(std::uint64_t epoch, const slice& s) {
    std::uint64_t context = 0;
    for (const auto& span : spans(s, 0, s.start)) {
      const auto terms = kv_.read(span);
      if (!terms)
        return terms.error();
      context += terms.value();
    }
    const auto end = s.start + static_cast<std::uint32_t>(s.tokens.size());
    for (const auto& span : spans(s, s.start, end)) {
      if (auto error = check_epoch(epoch))
        return error;
      kv_.write(span, &s.tokens[span.position - s.start]);
    }
    for (std::uint32_t position = s.start; position < end; ++position)
      context += context_term(s.tokens[position - s.start], position);
    return answer(s, hidden_of(context, options_.shape.hidden), end);
  }

  outcome<slice_result> resume(std::uint64_t epoch, const slice& s) {
    std::uint64_t context = 0;
    for (std::uint32_t position = 0; position < s.context.size(); ++position)
      context += context_term(s.context[position], position);
    for (const auto& span : spans(s, 0, static_cast<std::uint32_t>(s.context.size()))) {
      if (auto error = check_epoch(epoch))
        return error;
      if (auto error = kv_.verify(span, &s.context[span.position]))
        return error;
    }
    if (!s.context.empty() && s.resume != hidden_of(context, options_.shape.hidden))
      return failure{reason::corrupt, "resume: is not the hidden state of this context"};
    return answer(s, s.resume, s.start);
  }

  /// What follows a hidden state; `next` is the position that the chosen token will take.
  slice_result answer(const slice& s, std::vector<float> state, std::uint32_t next) const {
    slice_result result;
    result.sequence = s.sequence;
    const auto choice = choice_of(state, s, next);
    const auto token = static_cast<std::int32_t>(choice % options_.shape.vocab);
    if (s.sample)
      result.token = token;
    if (s.want_logits && options_.shape.tp_rank == 0) {
      result.logits.assign(options_.shape.vocab, 0.0F);
      result.logits[static_cast<std::size_t>(token)] = 1.0F;
    }
    if (s.want_hidden)
      result.hidden = std::move(state);
    return result;
  }

  std::chrono::microseconds pretended_time(const step_plan& plan) const {
    std::int64_t prefill_tokens = 0;
    std::int64_t steps = 0;
    for (const auto& s : plan.slices) {
      if (s.tokens.size() == 1 && s.start > 0)
        steps = 1;
      else
        prefill_tokens += static_cast<std::int64_t>(s.tokens.size());
    }
    return std::chrono::microseconds(prefill_tokens * options_.prefill_token_us
                                     + steps * options_.decode_step_us);
  }

  failure wait(std::uint64_t epoch, std::chrono::steady_clock::time_point until) {
    std::unique_lock<std::mutex> lock(mutex_);
    poisoned_.wait_until(lock, until, [&] { return static_cast<bool>(poison_of(epoch)); });
    return poison_of(epoch);
  }

  const synthetic_options options_;
  const plan_limits limits_;
  const synthetic_kv kv_;
  std::mutex mutex_;
  std::condition_variable poisoned_;
  std::optional<ended_epoch> ended_;
};

failure bad(const std::string& field, const std::string& why) {
  return {reason::bad_input, field + ": " + why};
}

failure check_shape(const geometry& g) {
  const std::pair<const char*, std::uint32_t> required[] = {
    {"layers", g.layers},       {"kv_heads", g.kv_heads},
    {"head_dim", g.head_dim},   {"hidden", g.hidden},
    {"vocab", g.vocab},         {"max_positions", g.max_positions},
    {"tp_degree", g.tp_degree}, {"block_tokens", g.block_tokens}};
  for (const auto& [name, value] : required)
    if (value == 0)
      return bad(name, "is 0");
  if (g.kv_heads % g.tp_degree != 0)
    return bad("kv_heads", std::to_string(g.kv_heads) + " do not divide into tp_degree "
                             + std::to_string(g.tp_degree));
  if (g.tp_rank >= g.tp_degree)
    return bad("tp_rank", "is not below tp_degree");
  const auto row_bytes = std::uint64_t{g.head_dim} * g.kv_element_bytes;
  if (row_bytes == 0 || row_bytes % sizeof(std::uint64_t) != 0)
    return bad("head_dim", "head_dim * kv_element_bytes is " + std::to_string(row_bytes)
                             + ", not a multiple of 8");
  return {};
}

} // namespace

outcome<std::unique_ptr<executor>> make_synthetic_executor(const synthetic_options& options,
                                                           kv_arena arena) {
  if (auto error = check_shape(options.shape))
    return error;
  if (options.prefill_token_us < 0 || options.decode_step_us < 0)
    return bad("prefill_token_us, decode_step_us", "are durations, not below 0");
  if (arena.base == nullptr || arena.blocks == 0)
    return bad("arena", "is empty");
  return std::unique_ptr<executor>(new synthetic_executor(options, arena));
}

} // namespace baton::gpu
