// What the tests of the CPU backend share: models at hand, arenas, and sequences to run on them.
#pragma once

#include "gpu/cpu/llama_executor.hpp"
#include "gpu/model.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace baton::gpu::test {

inline const std::string stories_folder
  = std::string(BATON_SHARED_DATA) + "/models/stories260K/hf";
inline const std::string kjv_folder = std::string(BATON_SHARED_DATA) + "/models/kjv-1.6m";

/// Null where the model is not at hand.
inline std::shared_ptr<const model> load_if_present(const std::string& folder) {
  if (!std::filesystem::exists(folder + "/config.json"))
    return nullptr;
  auto loaded = model::load(folder);
  return loaded ? loaded.value() : nullptr;
}

template <class T>
std::vector<T> read_binary(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// An executor with the memory it works in.
struct bench {
  geometry shape;
  std::unique_ptr<std::byte, void (*)(void*)> memory{nullptr, std::free};
  kv_arena arena;
  std::unique_ptr<executor> run;

  bench(std::shared_ptr<const model> source, const rank_options& options, std::uint32_t blocks,
        collective* group = nullptr)
    : shape(rank_geometry(source->config(), options).value()) {
    const std::size_t bytes = (blocks * block_bytes(shape) + 63) / 64 * 64;
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(64, bytes)));
    std::memset(memory.get(), 0xff, bytes); // a byte that is read before it is written is a NaN
    arena = {memory.get(), blocks};
    run = std::move(make_llama_executor(std::move(source), options, arena, group).value());
  }

  /// The bytes of positions [0, tokens) in the order of the positions, block table undone.
  std::vector<std::byte> kv_bytes(const std::vector<std::uint32_t>& blocks,
                                  std::uint32_t tokens) const {
    const std::size_t token_bytes = std::size_t{shape.head_dim} * shape.kv_element_bytes;
    const std::size_t planes
      = std::size_t{shape.layers} * 2 * (shape.kv_heads / shape.tp_degree);
    std::vector<std::byte> out;
    for (std::uint32_t t = 0; t < tokens; ++t)
      for (std::size_t plane = 0; plane < planes; ++plane) {
        const std::byte* at = arena.base + blocks[t / shape.block_tokens] * block_bytes(shape)
                              + (plane * shape.block_tokens + t % shape.block_tokens) * token_bytes;
        out.insert(out.end(), at, at + token_bytes);
      }
    return out;
  }
};

inline std::vector<std::uint32_t> blocks_from(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> blocks(count);
  std::iota(blocks.begin(), blocks.end(), first);
  return blocks;
}

/// A fixed, uneven sequence of token ids.
inline std::vector<std::int32_t> some_tokens(std::size_t count, std::uint32_t vocab,
                                             std::uint32_t salt = 1) {
  std::vector<std::int32_t> tokens(count);
  std::uint32_t state = salt * 2654435761U + 12345U;
  for (auto& token : tokens) {
    state = state * 1664525U + 1013904223U;
    token = static_cast<std::int32_t>((state >> 8) % vocab);
  }
  return tokens;
}

inline slice tokens_slice(std::vector<std::int32_t> tokens, std::uint32_t start,
                          std::vector<std::uint32_t> blocks) {
  slice s;
  s.tokens = std::move(tokens);
  s.start = start;
  s.blocks = std::move(blocks);
  return s;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size()
         && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// What a prompt leaves behind: the last position's distribution and state, and the cache.
struct trace {
  std::vector<float> logits;
  std::vector<float> hidden;
  std::vector<std::byte> kv;
  std::vector<std::int32_t> tokens; ///< greedy continuation
};

/// Prefills in chunks (0: whole) and continues greedily for `more` tokens.
inline trace run_sequence(bench& b, const std::vector<std::int32_t>& prompt, std::size_t chunk,
                          const std::vector<std::uint32_t>& blocks, std::size_t more = 0) {
  trace out;
  std::uint64_t step = 0;
  std::uint32_t at = 0;
  chunk = chunk == 0 ? prompt.size() : chunk;
  while (at < prompt.size()) {
    const std::size_t end = std::min<std::size_t>(prompt.size(), at + chunk);
    const std::vector<std::int32_t> part(prompt.begin() + at,
                                         prompt.begin() + static_cast<long>(end));
    auto s = tokens_slice(part, at, blocks);
    if (end == prompt.size()) {
      s.want_logits = true;
      s.want_hidden = true;
      s.sample = sampling{};
    }
    auto results = b.run->run({1, step++, {s}});
    if (!results)
      throw std::runtime_error(results.error().text);
    at = static_cast<std::uint32_t>(end);
    if (at == prompt.size()) {
      out.logits = results.value()[0].logits;
      out.hidden = results.value()[0].hidden;
      out.tokens.push_back(*results.value()[0].token);
    }
  }
  for (std::size_t i = 0; i < more; ++i) {
    auto s = tokens_slice({out.tokens.back()}, at++, blocks);
    s.sample = sampling{};
    auto results = b.run->run({1, step++, {s}});
    if (!results)
      throw std::runtime_error(results.error().text);
    out.tokens.push_back(*results.value()[0].token);
  }
  out.kv = b.kv_bytes(blocks, at);
  return out;
}

/// Runs f(rank) on one thread per rank and waits for all.
template <class F>
void on_ranks(std::uint32_t ranks, F f) {
  std::vector<std::thread> threads;
  for (std::uint32_t r = 0; r < ranks; ++r)
    threads.emplace_back([&f, r] { f(r); });
  for (auto& thread : threads)
    thread.join();
}

} // namespace baton::gpu::test
