#include "gpu/synthetic_executor.hpp"
#include "gpu/synthetic_kv.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <future>

using namespace baton;
using namespace baton::gpu;

namespace {

constexpr std::uint32_t arena_blocks = 16;
constexpr std::uint32_t prompt_tokens = 100;

geometry small_shape(std::uint32_t tp_rank = 0, std::uint32_t tp_degree = 1) {
  geometry g;
  g.layers = 3;
  g.heads = 8;
  g.kv_heads = 4;
  g.head_dim = 12;
  g.hidden = 40;
  g.vocab = 1000;
  g.max_positions = 256;
  g.tp_rank = tp_rank;
  g.tp_degree = tp_degree;
  return g;
}

/// One rank: an executor and the memory it works in.
struct rank {
  explicit rank(const geometry& shape, std::int64_t prefill_token_us = 0) {
    memory.resize(arena_blocks * block_bytes(shape), std::byte{0xEE});
    synthetic_options options;
    options.shape = shape;
    options.prefill_token_us = prefill_token_us;
    auto made = make_synthetic_executor(options, {memory.data(), arena_blocks});
    REQUIRE(made.ok());
    compute = std::move(made.value());
  }

  protocol::outcome<slice_result> try_one(const slice& s, std::uint64_t epoch = 0) {
    step_plan plan;
    plan.epoch = epoch;
    plan.slices.push_back(s);
    auto results = compute->run(plan);
    if (!results)
      return results.error();
    REQUIRE(results.value().size() == 1);
    return results.value().front();
  }

  slice_result one(const slice& s) {
    const auto result = try_one(s);
    REQUIRE_MESSAGE(result.ok(), (result.ok() ? "" : result.error().text));
    return result.value();
  }

  std::byte* block(std::uint32_t number) {
    return memory.data() + number * block_bytes(compute->shape());
  }

  std::vector<std::byte> memory;
  std::unique_ptr<executor> compute;
};

std::vector<std::int32_t> prompt() {
  std::vector<std::int32_t> tokens;
  for (std::uint32_t i = 0; i < prompt_tokens; ++i)
    tokens.push_back(static_cast<std::int32_t>(i * 37 % 1000));
  return tokens;
}

std::vector<std::uint32_t> in_order() {
  return {0, 1, 2, 3, 4, 5, 6, 7};
}
std::vector<std::uint32_t> shuffled() {
  return {9, 2, 15, 4, 0, 11, 7, 3};
}

slice tokens_at(std::uint32_t start, std::vector<std::int32_t> tokens,
                std::vector<std::uint32_t> blocks) {
  slice s;
  s.start = start;
  s.tokens = std::move(tokens);
  s.blocks = std::move(blocks);
  s.sample = sampling{};
  s.want_hidden = true;
  return s;
}

/// Prefills the prompt in chunks; the last chunk's result.
slice_result prefill(rank& on, std::uint32_t chunk, const std::vector<std::uint32_t>& blocks) {
  const auto all = prompt();
  slice_result last;
  for (std::uint32_t at = 0; at < prompt_tokens; at += chunk) {
    const auto end = std::min(at + chunk, prompt_tokens);
    last = on.one(tokens_at(at, {all.begin() + at, all.begin() + end}, blocks));
  }
  return last;
}

slice resume_of(const slice_result& prefilled, std::vector<std::uint32_t> blocks) {
  slice s;
  s.start = prompt_tokens;
  s.resume = prefilled.hidden;
  s.context = prompt();
  s.blocks = std::move(blocks);
  s.sample = sampling{};
  return s;
}

/// Decodes `count` tokens after `first`, which takes position prompt_tokens.
std::vector<std::int32_t> decode(rank& on, std::int32_t first, std::uint32_t count,
                                 const std::vector<std::uint32_t>& blocks) {
  std::vector<std::int32_t> tokens = {first};
  for (std::uint32_t i = 0; i < count; ++i)
    tokens.push_back(*on.one(tokens_at(prompt_tokens + i, {tokens.back()}, blocks)).token);
  return tokens;
}

/// Copies the blocks that hold the prompt from one block table to another.
void hand_over(rank& from, const std::vector<std::uint32_t>& source, rank& to,
               const std::vector<std::uint32_t>& destination) {
  for (std::size_t i = 0; i < source.size(); ++i)
    std::memcpy(to.block(destination[i]), from.block(source[i]),
                block_bytes(from.compute->shape()));
}

} // namespace

TEST_CASE("any chunking writes the same bytes and says the same") {
  rank whole(small_shape());
  const auto expected = prefill(whole, prompt_tokens, in_order());
  REQUIRE(expected.token);
  for (const std::uint32_t chunk : {1U, 7U, 16U, 33U}) {
    rank chunked(small_shape());
    const auto result = prefill(chunked, chunk, in_order());
    CHECK(result.token == expected.token);
    CHECK(result.hidden == expected.hidden);
    CHECK(chunked.memory == whole.memory);
  }
}

TEST_CASE("a hidden state is whole numbers below 2^20, which every format on the way keeps") {
  rank on(small_shape());
  const auto result = prefill(on, prompt_tokens, in_order());
  REQUIRE(result.hidden.size() == 40);
  for (const float value : result.hidden) {
    CHECK(value == std::floor(value));
    CHECK(value < static_cast<float>(1 << 20));
  }
}

TEST_CASE("heads carry the same bytes whatever the TP degree, and all ranks say the same") {
  rank single(small_shape());
  const auto expected = prefill(single, 16, in_order());
  const auto shape = small_shape();
  const std::size_t head_bytes = std::size_t{16} * shape.head_dim * shape.kv_element_bytes;
  for (const std::uint32_t degree : {2U, 4U})
    for (std::uint32_t number = 0; number < degree; ++number) {
      rank part(small_shape(number, degree));
      const auto result = prefill(part, 25, in_order());
      CHECK(result.token == expected.token);
      CHECK(result.hidden == expected.hidden);
      const auto local = shape.kv_heads / degree;
      for (std::uint32_t plane = 0; plane < shape.layers * 2; ++plane)
        CHECK(std::memcmp(part.block(3) + plane * local * head_bytes,
                          single.block(3) + (plane * 4 + number * local) * head_bytes,
                          local * head_bytes)
              == 0);
    }
}

TEST_CASE("split execution continues like colocated execution") {
  rank together(small_shape());
  const auto prefilled = prefill(together, 16, in_order());
  const auto expected = decode(together, *prefilled.token, 20, in_order());

  rank source(small_shape());
  rank destination(small_shape());
  const auto handed = prefill(source, 100, shuffled());
  hand_over(source, shuffled(), destination, in_order());
  const auto first = destination.one(resume_of(handed, in_order()));
  REQUIRE(first.token);
  CHECK(decode(destination, *first.token, 20, in_order()) == expected);
}

TEST_CASE("one wrong byte anywhere in the prompt's KV is found and named") {
  rank on(small_shape());
  const auto handed = prefill(on, 100, shuffled());
  const struct {
    std::uint32_t layer, kind, head, position, byte;
    const char* text;
  } places[] = {
    {0, 0, 0, 0, 0, "block 9, layer 0, k, head 0, position 0: "},
    {2, 1, 3, 99, 23, "block 7, layer 2, v, head 3, position 99: "},
    {1, 0, 2, 47, 11, "block 15, layer 1, k, head 2, position 47: "},
  };
  for (const auto& place : places) {
    CAPTURE(place.text);
    const auto row = ((place.layer * 2 + place.kind) * 4 + place.head) * 16 + place.position % 16;
    auto& byte = on.block(shuffled()[place.position / 16])[row * 24 + place.byte];
    byte ^= std::byte{1};
    const auto refused = on.try_one(resume_of(handed, shuffled()));
    byte ^= std::byte{1};
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().why == protocol::reason::corrupt);
    CHECK(refused.error().text.find(place.text) == 0);
  }
  CHECK(on.try_one(resume_of(handed, shuffled())).ok());
}

TEST_CASE("bytes behind the prompt are nobody's and are not looked at") {
  rank on(small_shape());
  const auto handed = prefill(on, 100, in_order());
  auto* last_slot = on.block(6) + 15 * 24; // position 111 of a prompt of 100
  std::memset(last_slot, 0x55, 24);
  CHECK(on.try_one(resume_of(handed, in_order())).ok());
}

TEST_CASE("a resume state of another context is refused") {
  rank on(small_shape());
  auto handed = prefill(on, 100, in_order());
  handed.hidden[7] += 1.0F;
  const auto refused = on.try_one(resume_of(handed, in_order()));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().text == "resume: is not the hidden state of this context");
}

TEST_CASE("a decode step notices that a block now belongs to another sequence") {
  rank on(small_shape());
  const auto prefilled = prefill(on, 100, in_order());
  on.one(tokens_at(0, {5, 6, 7}, {2})); // takes block 2, positions 32 to 47
  const auto refused = on.try_one(tokens_at(100, {*prefilled.token}, in_order()));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().why == protocol::reason::corrupt);
  CHECK(refused.error().text
        == "block 2, layer 2, v, head 0, position 32: the block holds no token of this position");
}

TEST_CASE("an earlier token changes what follows, and so do seed and temperature") {
  rank on(small_shape());
  const auto ask = [&](std::int32_t second, float temperature, std::uint64_t seed) {
    auto s = tokens_at(0, {1, second, 3, 4}, {0});
    s.sample->temperature = temperature;
    s.sample->seed = seed;
    return on.one(s).token;
  };
  CHECK(ask(2, 0.0F, 1) == ask(2, 0.0F, 9));
  CHECK(ask(2, 0.0F, 1) != ask(8, 0.0F, 1));
  CHECK(ask(2, 0.8F, 1) == ask(2, 0.8F, 1));
  CHECK(ask(2, 0.8F, 1) != ask(2, 0.8F, 9));
}

TEST_CASE("poison ends the pretended computation at once, and only its epoch") {
  rank slow(small_shape(), /*prefill_token_us=*/3'600'000'000);
  auto running = std::async(std::launch::async,
                            [&] { return slow.try_one(tokens_at(0, {1, 2, 3}, {0}), 4); });
  slow.compute->poison(4, "rank 1 is lost");
  const auto ended = running.get();
  REQUIRE_FALSE(ended.ok());
  CHECK(ended.error().why == protocol::reason::group_poisoned);
  CHECK(ended.error().text == "rank 1 is lost");
  CHECK_FALSE(slow.try_one(tokens_at(0, {1}, {0}), 3).ok());

  rank fast(small_shape());
  fast.compute->poison(4, "rank 1 is lost");
  CHECK_FALSE(fast.try_one(tokens_at(0, {1}, {0}), 4).ok());
  CHECK(fast.try_one(tokens_at(0, {1}, {0}), 5).ok());
}

TEST_CASE("a plan takes the time that it pretends to compute") {
  rank on(small_shape(), /*prefill_token_us=*/500);
  const auto began = std::chrono::steady_clock::now();
  on.one(tokens_at(0, {1, 2, 3, 4}, {0}));
  CHECK(std::chrono::steady_clock::now() - began >= std::chrono::microseconds(2000));
}

TEST_CASE("a shape that cannot be laid out is refused by field") {
  std::vector<std::byte> memory(1 << 20);
  const auto refusal = [&](auto change) {
    synthetic_options options;
    options.shape = small_shape();
    change(options);
    const auto made = make_synthetic_executor(options, {memory.data(), 4});
    return made ? std::string() : made.error().text;
  };
  CHECK(refusal([](auto&) {}).empty());
  CHECK(refusal([](auto& o) { o.shape.vocab = 0; }) == "vocab: is 0");
  CHECK(refusal([](auto& o) { o.shape.tp_degree = 3; })
        == "kv_heads: 4 do not divide into tp_degree 3");
  CHECK(refusal([](auto& o) { o.shape.head_dim = 3; })
        == "head_dim: head_dim * kv_element_bytes is 6, not a multiple of 8");
  CHECK(refusal([](auto& o) { o.shape.tp_rank = 1; }) == "tp_rank: is not below tp_degree");
}

TEST_CASE("a context that does not fit its blocks is refused before memory is read") {
  rank on(small_shape());
  const auto handed = prefill(on, 100, in_order());
  auto too_few = resume_of(handed, {0, 1, 2});
  CHECK(on.try_one(too_few).error().why == protocol::reason::out_of_range);
  auto too_short = resume_of(handed, in_order());
  too_short.context.pop_back();
  CHECK(on.try_one(too_short).error().text == "context: has 99 tokens, start is 100");
}
