#include "gpu/cpu/forward_pass.hpp"

#include "gpu/cpu/kernels.hpp"
#include "gpu/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::outcome;

constexpr std::size_t row_grain = 16; // rows that one thread takes at a time

/// Buffers only grow: what a smaller plan leaves behind is never read.
void reserve_floats(std::vector<float>& buffer, std::size_t floats) {
  if (buffer.size() < floats)
    buffer.resize(floats);
}

} // namespace

forward_pass::forward_pass(std::shared_ptr<const rank_weights> weights, kv_arena arena,
                           collective* group, std::size_t threads)
  : weights_(std::move(weights)),
    shape_(weights_->shape()),
    arena_(arena),
    group_(group),
    pool_(std::max<std::size_t>(1, threads)),
    partials_(input_quarters / shape_.tp_degree),
    scores_(pool_.threads()) {
  // Rotary frequencies (Su et al., "RoFormer", 2021): theta^(-2i / head_dim).
  const double theta = weights_->source().config().rope_theta;
  for (std::uint32_t i = 0; i < shape_.head_dim / 2; ++i)
    frequencies_.push_back(std::pow(theta, -2.0 * i / shape_.head_dim));
}

outcome<std::vector<slice_result>> forward_pass::run(const step_plan& plan) {
  lay_out(plan);
  if (!rows_.empty())
    for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
      if (auto f = attention_block(plan, layer))
        return f;
      if (auto f = mlp_block(plan, layer))
        return f;
    }
  return finish(plan);
}

void forward_pass::lay_out(const step_plan& plan) {
  rows_.clear();
  longest_ = 0;
  for (const auto& s : plan.slices)
    for (std::size_t i = 0; i < s.tokens.size(); ++i) {
      rows_.push_back({&s, s.start + static_cast<std::uint32_t>(i)});
      longest_ = std::max(longest_, rows_.back().position + 1);
    }
  const std::size_t half = frequencies_.size();
  reserve_floats(x_, rows_.size() * shape_.hidden);
  reserve_floats(normed_, rows_.size() * shape_.hidden);
  reserve_floats(angles_, rows_.size() * 2 * half);
  pool_.run(rows_.size(), row_grain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t m = begin; m < end; ++m) {
      const row& r = rows_[m];
      weights_->embed(r.from->tokens[r.position - r.from->start], &x_[m * shape_.hidden]);
      for (std::size_t i = 0; i < half; ++i) {
        const double angle = r.position * frequencies_[i];
        angles_[m * 2 * half + i] = static_cast<float>(std::cos(angle));
        angles_[m * 2 * half + half + i] = static_cast<float>(std::sin(angle));
      }
    }
  });
}

void forward_pass::normalise(const std::vector<float>& weight) {
  const float eps = weights_->source().config().rms_norm_eps;
  pool_.run(rows_.size(), row_grain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t m = begin; m < end; ++m)
      kernels::rms_norm(&x_[m * shape_.hidden], weight.data(), shape_.hidden, eps,
                        &normed_[m * shape_.hidden]);
  });
}

failure forward_pass::attention_block(const step_plan& plan, std::uint32_t layer) {
  const auto& w = weights_->layers()[layer];
  const std::size_t stride = w.query_key_value.outputs_padded();
  reserve_floats(projected_, rows_.size() * stride);
  normalise(w.attention_norm);
  w.query_key_value.multiply(normed_.data(), shape_.hidden, rows_.size(), projected_.data(), stride,
                             strips_, pool_);
  rotate_and_store(layer);
  attend(layer);
  return add_row_parallel(
    w.attention_out, attended_.data(),
    {plan.epoch, plan.step, layer, static_cast<std::uint32_t>(collective_phase::attention_out)});
}

std::byte* forward_pass::cache(std::uint32_t block, std::uint32_t layer,
                               std::uint32_t which) const {
  const std::size_t head_bytes
    = std::size_t{shape_.block_tokens} * shape_.head_dim * shape_.kv_element_bytes;
  return arena_.base + block * block_bytes(shape_)
         + (std::size_t{layer} * 2 + which) * weights_->kv_heads() * head_bytes;
}

void forward_pass::store(std::uint32_t layer, const row& at, const float* keys,
                         const float* values) {
  const std::size_t head_dim = shape_.head_dim;
  const std::uint32_t block = at.from->blocks[at.position / shape_.block_tokens];
  const std::size_t token = at.position % shape_.block_tokens;
  for (std::uint32_t which = 0; which < 2; ++which) {
    const float* source = which == 0 ? keys : values;
    std::byte* base = cache(block, layer, which);
    for (std::uint32_t head = 0; head < weights_->kv_heads(); ++head) {
      const std::size_t element = (head * shape_.block_tokens + token) * head_dim;
      std::byte* to = base + element * shape_.kv_element_bytes;
      if (shape_.kv_element_bytes == 4)
        std::memcpy(to, source + head * head_dim, head_dim * sizeof(float));
      else
        kernels::round_to_bf16(source + head * head_dim, head_dim,
                               reinterpret_cast<kernels::bf16*>(to));
    }
  }
}

void forward_pass::rotate_and_store(std::uint32_t layer) {
  const std::size_t stride = weights_->layers()[layer].query_key_value.outputs_padded();
  const std::size_t queries = std::size_t{weights_->heads()} * shape_.head_dim;
  const std::size_t keys = std::size_t{weights_->kv_heads()} * shape_.head_dim;
  const std::size_t half = frequencies_.size();
  pool_.run(rows_.size(), row_grain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t m = begin; m < end; ++m) {
      float* q = &projected_[m * stride];
      // Queries and keys lie side by side: one call turns both.
      kernels::rotate_heads(q, weights_->heads() + weights_->kv_heads(), shape_.head_dim,
                            &angles_[m * 2 * half], &angles_[m * 2 * half + half]);
      store(layer, rows_[m], q + queries, q + queries + keys);
    }
  });
}

void forward_pass::attend(std::uint32_t layer) {
  const std::size_t stride = weights_->layers()[layer].query_key_value.outputs_padded();
  const std::size_t kv_heads = weights_->kv_heads();
  const std::size_t group = weights_->heads() / kv_heads; // query heads per KV head
  const std::size_t width = std::size_t{weights_->heads()} * shape_.head_dim;
  const std::size_t head_bytes
    = std::size_t{shape_.block_tokens} * shape_.head_dim * shape_.kv_element_bytes;
  reserve_floats(attended_, rows_.size() * width);
  for (auto& scratch : scores_)
    reserve_floats(scratch, kernels::attend_scratch_floats(group, longest_));
  pool_.run(rows_.size() * kv_heads, 4, [&](std::size_t begin, std::size_t end, std::size_t t) {
    kernels::paged_head head;
    head.block_bytes = block_bytes(shape_);
    head.block_tokens = shape_.block_tokens;
    head.head_dim = shape_.head_dim;
    head.full = shape_.kv_element_bytes == 4;
    for (std::size_t item = begin; item < end; ++item) {
      const row& r = rows_[item / kv_heads];
      const std::size_t g = item % kv_heads;
      head.keys = cache(0, layer, 0) + g * head_bytes;
      head.values = cache(0, layer, 1) + g * head_bytes;
      const std::size_t offset = g * group * shape_.head_dim;
      kernels::attend(head, r.from->blocks.data(), r.position + 1,
                      &projected_[item / kv_heads * stride + offset], group, scores_[t].data(),
                      &attended_[item / kv_heads * width + offset]);
    }
  });
}

failure forward_pass::mlp_block(const step_plan& plan, std::uint32_t layer) {
  const auto& w = weights_->layers()[layer];
  const std::size_t stride = w.gate_up.outputs_padded();
  const std::size_t width = weights_->intermediate();
  reserve_floats(projected_, rows_.size() * stride);
  reserve_floats(activated_, rows_.size() * width);
  normalise(w.mlp_norm);
  w.gate_up.multiply(normed_.data(), shape_.hidden, rows_.size(), projected_.data(), stride,
                     strips_, pool_);
  pool_.run(rows_.size(), row_grain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t m = begin; m < end; ++m)
      kernels::swiglu(&projected_[m * stride], &projected_[m * stride + width], width,
                      &activated_[m * width]);
  });
  return add_row_parallel(
    w.mlp_out, activated_.data(),
    {plan.epoch, plan.step, layer, static_cast<std::uint32_t>(collective_phase::mlp_out)});
}

failure forward_pass::add_row_parallel(const std::vector<packed_matrix>& quarters,
                                       const float* input, const schedule& at) {
  const std::size_t stride = quarters.front().outputs_padded();
  const std::size_t columns = quarters.front().inputs();
  const std::size_t floats = rows_.size() * stride;
  for (std::size_t i = 0; i < quarters.size(); ++i) {
    reserve_floats(partials_[i], floats);
    quarters[i].multiply(input + i * columns, quarters.size() * columns, rows_.size(),
                         partials_[i].data(), stride, strips_, pool_);
  }
  // (p0 + p1) + (p2 + p3): the part of the tree that lies on this rank, then the rest of it.
  for (std::size_t step = 1; step < quarters.size(); step *= 2)
    for (std::size_t i = 0; i + step < quarters.size(); i += 2 * step)
      kernels::add(partials_[i].data(), partials_[i + step].data(), floats, partials_[i].data());
  float* sum = partials_.front().data();
  if (shape_.tp_degree > 1)
    if (auto f = group_->all_reduce_sum(at, sum, floats, sum))
      return f;
  for (std::size_t m = 0; m < rows_.size(); ++m)
    kernels::add(&x_[m * shape_.hidden], sum + m * stride, shape_.hidden, &x_[m * shape_.hidden]);
  return {};
}

outcome<std::vector<slice_result>> forward_pass::finish(const step_plan& plan) {
  std::vector<slice_result> results(plan.slices.size());
  std::vector<head_row> states;
  std::size_t end = 0; // rows of the slices up to and including this one
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    const slice& s = plan.slices[i];
    end += s.tokens.size();
    const float* state = s.resume.empty() ? &x_[(end - 1) * shape_.hidden] : s.resume.data();
    results[i].sequence = s.sequence;
    if (s.want_hidden)
      results[i].hidden.assign(state, state + shape_.hidden);
    if (s.sample || s.want_logits)
      states.push_back({state, i});
  }
  if (states.empty())
    return results;
  if (auto f = compute_logits(plan, states))
    return f;
  for (std::size_t n = 0; n < states.size(); ++n) {
    const slice& s = plan.slices[states[n].slice];
    const float* logits = &logits_[n * shape_.vocab];
    auto& result = results[states[n].slice];
    if (s.sample)
      result.token
        = sample_token(logits, shape_.vocab, *s.sample, std::uint64_t{s.start} + s.tokens.size());
    if (s.want_logits && shape_.tp_rank == 0)
      result.logits.assign(logits, logits + shape_.vocab);
  }
  return results;
}

failure forward_pass::compute_logits(const step_plan& plan, const std::vector<head_row>& states) {
  const float eps = weights_->source().config().rms_norm_eps;
  reserve_floats(normed_, states.size() * shape_.hidden);
  for (std::size_t n = 0; n < states.size(); ++n)
    kernels::rms_norm(states[n].state, weights_->final_norm().data(), shape_.hidden, eps,
                      &normed_[n * shape_.hidden]);
  const auto& head = weights_->lm_head();
  const std::size_t stride = head.outputs_padded();
  const std::size_t share = weights_->vocab_share();
  const auto first = [&](std::size_t rank) {
    return std::min<std::size_t>(shape_.vocab, rank * share);
  };
  const auto held = [&](std::size_t rank) { return first(rank + 1) - first(rank); };
  reserve_floats(projected_, states.size() * stride);
  head.multiply(normed_.data(), shape_.hidden, states.size(), projected_.data(), stride, strips_,
                pool_);
  share_.assign(states.size() * share, 0.0F);
  for (std::size_t n = 0; n < states.size(); ++n)
    std::copy_n(projected_.data() + n * stride, held(shape_.tp_rank), share_.data() + n * share);
  reserve_floats(gathered_, shape_.tp_degree * share_.size());
  if (shape_.tp_degree == 1)
    std::copy(share_.begin(), share_.end(), gathered_.begin());
  else if (auto f = group_->all_gather(
             {plan.epoch, plan.step, shape_.layers,
              static_cast<std::uint32_t>(collective_phase::logits)},
             share_.data(), share_.size(), gathered_.data()))
    return f;
  reserve_floats(logits_, states.size() * shape_.vocab);
  for (std::size_t rank = 0; rank < shape_.tp_degree; ++rank)
    for (std::size_t n = 0; n < states.size(); ++n)
      std::copy_n(gathered_.data() + (rank * states.size() + n) * share, held(rank),
                  logits_.data() + n * shape_.vocab + first(rank));
  return {};
}

} // namespace baton::gpu
