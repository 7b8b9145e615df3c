// One sequence's bits must not depend on how it is computed or what is computed beside it.
#include "gpu/cpu/kernels.hpp"
#include "tests/gpu/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace baton::gpu;
using namespace baton::gpu::test;

namespace {

constexpr std::uint32_t prompt_tokens = 150;

struct world {
  std::shared_ptr<const model> source;
  rank_options options;
  std::vector<std::int32_t> prompt;
  trace reference;

  world(const std::string& folder, kv_dtype kv) : source(load_if_present(folder)) {
    options.kv = kv;
    if (!source)
      return;
    prompt = some_tokens(prompt_tokens, source->config().vocab);
    bench b(source, options, 32);
    reference = run_sequence(b, prompt, 0, blocks_from(0, 12), 8);
  }
};

void check_equal(const trace& a, const trace& b) {
  CHECK(same_bits(a.logits, b.logits));
  CHECK(same_bits(a.hidden, b.hidden));
  CHECK(a.kv == b.kv);
  CHECK(a.tokens == b.tokens);
}

/// Both models, both cache types.
template <class F>
void in_each_world(F f) {
  for (const auto& folder : {stories_folder, kjv_folder})
    for (const auto kv : {kv_dtype::f32, kv_dtype::bf16}) {
      const world w(folder, kv);
      if (!w.source) {
        MESSAGE("not at hand: ", folder);
        continue;
      }
      f(w);
    }
}

} // namespace

TEST_CASE("logits, states, KV bytes and tokens are the same bits for every prefill chunk") {
  in_each_world([](const world& w) {
    for (const std::size_t chunk : {1, 7, 13, 64}) {
      CAPTURE(chunk);
      bench b(w.source, w.options, 32);
      check_equal(run_sequence(b, w.prompt, chunk, blocks_from(0, 12), 8), w.reference);
    }
  });
}

TEST_CASE("a permuted block table changes nothing but the place of the bytes") {
  in_each_world([](const world& w) {
    auto blocks = blocks_from(20, 12);
    std::reverse(blocks.begin(), blocks.end());
    std::swap(blocks[0], blocks[5]);
    bench b(w.source, w.options, 32);
    check_equal(run_sequence(b, w.prompt, 32, blocks, 8), w.reference);
  });
}

TEST_CASE("two threads compute the same bits as one") {
  in_each_world([](const world& w) {
    rank_options options = w.options;
    options.threads = 2;
    bench b(w.source, options, 32);
    check_equal(run_sequence(b, w.prompt, 0, blocks_from(0, 12), 8), w.reference);
    check_equal(run_sequence(b, w.prompt, 7, blocks_from(12, 12), 8), w.reference);
  });
}

TEST_CASE("other sequences in the same plan change nothing") {
  in_each_world([](const world& w) {
    bench b(w.source, w.options, 32);
    const auto blocks = blocks_from(0, 12);
    const auto vocab = w.source->config().vocab;
    // The prompt in two chunks, each amid a prefill and decodes of other sequences.
    std::vector<std::vector<float>> logits;
    for (std::uint32_t at = 0; at < prompt_tokens; at += 75) {
      step_plan plan{1, at, {}};
      for (std::uint32_t other = 0; other < 3; ++other)
        plan.slices.push_back(tokens_slice(some_tokens(1 + 9 * other, vocab, other + 5), 0,
                                           blocks_from(12 + 2 * other, 2)));
      auto mine = tokens_slice({w.prompt.begin() + at, w.prompt.begin() + at + 75}, at, blocks);
      mine.want_logits = true;
      plan.slices.insert(plan.slices.begin() + 1, mine);
      plan.slices[0].sample = sampling{0.8F, 1.0F, 0, 3};
      auto results = b.run->run(plan);
      REQUIRE(results.ok());
      REQUIRE(results.value().size() == 4);
      logits.push_back(results.value()[1].logits);
    }
    CHECK(same_bits(logits.back(), w.reference.logits));
    // Then decodes, in batches of changing size.
    std::int32_t token = w.reference.tokens[0];
    for (std::uint32_t i = 0; i < 8; ++i) {
      step_plan plan{1, 1000 + i, {}};
      for (std::uint32_t other = 0; other < i * 2; ++other)
        plan.slices.push_back(tokens_slice({7}, 0, blocks_from(12 + other, 1)));
      auto mine = tokens_slice({token}, prompt_tokens + i, blocks);
      mine.sample = sampling{};
      plan.slices.push_back(mine);
      auto results = b.run->run(plan);
      REQUIRE(results.ok());
      token = *results.value().back().token;
      CHECK(token == w.reference.tokens[i + 1]);
    }
    CHECK(b.kv_bytes(blocks, prompt_tokens + 8) == w.reference.kv);
  });
}

TEST_CASE("a handed-over hidden state resumes to the same logits and token") {
  in_each_world([](const world& w) {
    bench b(w.source, w.options, 32);
    slice resumed;
    resumed.sequence = 9;
    resumed.start = prompt_tokens;
    resumed.resume = w.reference.hidden;
    resumed.sample = sampling{};
    resumed.want_logits = true;
    resumed.want_hidden = true;
    // Beside a decode of another sequence.
    const auto other = tokens_slice({3}, 0, blocks_from(0, 1));
    auto results = b.run->run({1, 1, {other, resumed}});
    REQUIRE(results.ok());
    CHECK(results.value()[1].sequence == 9);
    CHECK(same_bits(results.value()[1].logits, w.reference.logits));
    CHECK(same_bits(results.value()[1].hidden, w.reference.hidden));
    CHECK(results.value()[1].token == w.reference.tokens[0]);
    CHECK_FALSE(results.value()[0].token.has_value());
  });
}

TEST_CASE("every instruction set computes the same bits as std::fma") {
  in_each_world([](const world& w) {
    const auto targets = kernels::runnable_targets();
    CHECK(targets.size() >= 2); // there is at least one vector target wherever this is tested
    for (const auto& target : targets) {
      CAPTURE(target);
      REQUIRE(kernels::use_target(target));
      bench b(w.source, w.options, 32);
      const auto got = run_sequence(b, w.prompt, 64, blocks_from(0, 12), 8);
      kernels::use_target("");
      check_equal(got, w.reference);
    }
  });
}
