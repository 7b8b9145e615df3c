#include "actors/bench_engine.hpp"

#include "actors/bench_pipe.hpp"
#include "actors/bench_report.hpp"
#include "gpu/cpu/llama_executor.hpp"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <numeric>
#include <thread>

namespace baton::actors::bench {

namespace {

constexpr std::uint32_t prompt_tokens_max = 512;
constexpr std::uint32_t generated_tokens_max = 128;
constexpr std::uint32_t weight_copies = 8; ///< a round's baseline

template <class T>
T value_or_give_up(protocol::outcome<T> made) {
  if (!made)
    give_up("engine: " + made.error().text);
  return std::move(made.value());
}

std::uint64_t weight_bytes(const gpu::model& model) {
  std::uint64_t sum = 0;
  for (const auto& [name, shape] : gpu::required_tensors(model.config()))
    sum += model.tensor(name).bytes;
  return sum;
}

/// One rank with memory for one sequence.
class engine_of_one {
public:
  engine_of_one(const std::string& folder, std::uint32_t threads)
    : model_(value_or_give_up(gpu::model::load(folder))) {
    gpu::rank_options options;
    options.threads = threads;
    const gpu::geometry shape = value_or_give_up(gpu::rank_geometry(model_->config(), options));
    generated_ = std::min(generated_tokens_max, model_->config().max_positions / 2);
    prompt_ = std::min(prompt_tokens_max, model_->config().max_positions - generated_);
    blocks_.resize((prompt_ + generated_) / options.block_tokens + 1);
    std::iota(blocks_.begin(), blocks_.end(), 0U);
    memory_.resize(blocks_.size() * gpu::block_bytes(shape));
    executor_ = value_or_give_up(gpu::make_llama_executor(
      model_, options, {memory_.data(), static_cast<std::uint32_t>(blocks_.size())}, nullptr));
  }

  const gpu::model& model() const { return *model_; }
  std::uint32_t prompt_tokens() const { return prompt_; }
  std::uint32_t generated_tokens() const { return generated_; }

  /// Seconds.
  double compute_prompt() {
    std::vector<std::int32_t> tokens(prompt_);
    for (std::uint32_t i = 0; i < prompt_; ++i)
      tokens[i] = static_cast<std::int32_t>(i * 7U % model_->config().vocab);
    const double begin = clock_s();
    run(std::move(tokens), 0);
    return clock_s() - begin;
  }

  double generate() {
    const double begin = clock_s();
    for (std::uint32_t i = 0; i < generated_; ++i)
      run({last_}, prompt_ + i);
    return clock_s() - begin;
  }

private:
  void run(std::vector<std::int32_t> tokens, std::uint32_t start) {
    gpu::slice slice;
    slice.tokens = std::move(tokens);
    slice.start = start;
    slice.blocks = blocks_;
    slice.sample = gpu::sampling{};
    gpu::step_plan plan;
    plan.step = ++step_;
    plan.slices.push_back(std::move(slice));
    last_ = value_or_give_up(executor_->run(plan)).front().token.value_or(0);
  }

  std::shared_ptr<const gpu::model> model_;
  std::vector<std::uint32_t> blocks_;
  std::vector<std::byte> memory_;
  std::unique_ptr<gpu::executor> executor_;
  std::uint32_t prompt_ = 0;
  std::uint32_t generated_ = 0;
  std::uint64_t step_ = 0;
  std::int32_t last_ = 0;
};

/// How often a second so many bytes are copied, all threads together.
double copies_per_s(const std::vector<std::byte>& from, std::vector<std::byte>& to,
                    std::uint32_t threads) {
  const std::size_t share = from.size() / threads;
  const double begin = clock_s();
  std::vector<std::thread> all;
  for (std::uint32_t t = 0; t < threads; ++t)
    all.emplace_back([&from, &to, share, at = t * share] {
      for (std::uint32_t i = 0; i < weight_copies; ++i)
        std::memcpy(to.data() + at, from.data() + at, share);
    });
  for (auto& thread : all)
    thread.join();
  return weight_copies / (clock_s() - begin);
}

} // namespace

int engine(const std::string& model_folder, std::uint32_t threads, std::uint32_t rounds) {
  const idleness idle;
  engine_of_one one(model_folder, threads);
  const std::vector<std::byte> weights(weight_bytes(one.model()), std::byte{1});
  std::vector<std::byte> copy(weights.size(), std::byte{2});
  const char* const baseline = "memcpy of all weights, once a token, by as many threads";
  const std::string with = ", " + std::to_string(threads) + " threads";
  measurement pp{"engine", "pp" + std::to_string(one.prompt_tokens()) + with, "tokens/s", baseline,
                 {}, {}, {}, {}};
  measurement tg{"engine", "tg" + std::to_string(one.generated_tokens()) + with, "tokens/s",
                 baseline, {}, {}, {}, {}};
  for (std::uint32_t round = 0; round <= rounds; ++round) {
    const double copied = copies_per_s(weights, copy, threads);
    const double prompt_s = one.compute_prompt();
    const double generate_s = one.generate();
    if (round == 0)
      continue; // pages and caches are met
    pp.values.push_back(one.prompt_tokens() / prompt_s);
    tg.values.push_back(one.generated_tokens() / generate_s);
    pp.baselines.push_back(copied);
    tg.baselines.push_back(copied);
  }
  for (measurement* m : {&pp, &tg}) {
    m->more = {{"weight_bytes", static_cast<double>(weights.size())}};
    std::cout << to_json_line(*m, idle.share()) << std::endl;
  }
  return 0;
}

} // namespace baton::actors::bench
