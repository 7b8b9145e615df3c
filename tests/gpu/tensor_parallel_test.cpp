// The ranks of a group, as threads and as processes, against one rank alone.
#include "gpu/cpu/collective.hpp"
#include "tests/gpu/support.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

using namespace baton::gpu;
using namespace baton::gpu::test;

namespace {

const collective_limits patient{60'000, 1ULL << 20, 200};

/// The bytes of a whole model's cache that rank `rank` of `degree` should hold: its heads' share.
std::vector<std::byte> share_of(const std::vector<std::byte>& whole, const geometry& g,
                                std::uint32_t rank, std::uint32_t degree) {
  const std::size_t head = std::size_t{g.head_dim} * g.kv_element_bytes;
  const std::size_t held = g.kv_heads / degree;
  std::vector<std::byte> out;
  // whole: [token][layer][k|v][kv_head][head_dim]
  for (std::size_t at = 0; at < whole.size(); at += g.kv_heads * head)
    out.insert(out.end(), whole.begin() + static_cast<long>(at + rank * held * head),
               whole.begin() + static_cast<long>(at + (rank + 1) * held * head));
  return out;
}

void compare_with_one_rank(const std::string& folder, kv_dtype kv, std::uint32_t degree) {
  const auto source = load_if_present(folder);
  if (!source) {
    MESSAGE("not at hand: ", folder);
    return;
  }
  rank_options alone;
  alone.kv = kv;
  const auto prompt = some_tokens(100, source->config().vocab, 3);
  bench single(source, alone, 16);
  const auto reference = run_sequence(single, prompt, 0, blocks_from(0, 8), 6);

  collective_limits limits = patient;
  limits.slot_bytes = 4096; // smaller than an operation: parts must not change a bit either
  auto group = make_local_group(degree, limits);
  REQUIRE(group.ok());
  std::vector<trace> traces(degree);
  on_ranks(degree, [&](std::uint32_t rank) {
    rank_options options = alone;
    options.tp_rank = rank;
    options.tp_degree = degree;
    bench b(source, options, 16, group.value()[rank].get());
    traces[rank] = run_sequence(b, prompt, 41, blocks_from(0, 8), 6);
  });
  for (std::uint32_t rank = 0; rank < degree; ++rank) {
    CAPTURE(rank);
    CHECK(traces[rank].tokens == reference.tokens);
    CHECK(same_bits(traces[rank].hidden, reference.hidden));
    CHECK(traces[rank].kv == share_of(reference.kv, single.shape, rank, degree));
    if (rank == 0)
      CHECK(same_bits(traces[rank].logits, reference.logits));
    else
      CHECK(traces[rank].logits.empty());
  }
}

} // namespace

TEST_CASE("two and four ranks compute the same bits as one") {
  for (const auto kv : {kv_dtype::f32, kv_dtype::bf16}) {
    compare_with_one_rank(stories_folder, kv, 2);
    compare_with_one_rank(stories_folder, kv, 4);
    compare_with_one_rank(kjv_folder, kv, 2);
  }
}

TEST_CASE("ranks in separate processes meet over shared memory and agree with one rank") {
  const auto source = load_if_present(stories_folder);
  if (!source) {
    MESSAGE("stories260K is not at hand");
    return;
  }
  const auto prompt = some_tokens(40, source->config().vocab, 4);
  bench single(source, {}, 8);
  const auto reference = run_sequence(single, prompt, 0, blocks_from(0, 4), 12);

  const std::string name = "/baton-test-" + std::to_string(::getpid());
  const std::uint32_t degree = 4;
  std::vector<pid_t> children;
  for (std::uint32_t rank = 0; rank < degree; ++rank) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      // The exit status is the child's word: 0 when its tokens are the reference's.
      auto group = join_shared_group(name, rank, degree, patient);
      if (!group)
        ::_exit(2);
      rank_options options;
      options.tp_rank = rank;
      options.tp_degree = degree;
      bench b(source, options, 8, group.value().get());
      const auto got = run_sequence(b, prompt, 16, blocks_from(0, 4), 12);
      ::_exit(got.tokens == reference.tokens ? 0 : 3);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  CHECK_FALSE(std::filesystem::exists("/dev/shm" + name));
}

TEST_CASE("a degree that cannot split the model is refused by name") {
  const auto source = load_if_present(kjv_folder);
  if (!source) {
    MESSAGE("kjv-1.6m is not at hand");
    return;
  }
  rank_options options;
  options.tp_degree = 4;
  auto too_many = rank_geometry(source->config(), options);
  REQUIRE_FALSE(too_many.ok());
  CHECK(too_many.error().why == baton::protocol::reason::unsupported);
  CHECK(too_many.error().text.find("num_key_value_heads 2") != std::string::npos);
  options.tp_degree = 3;
  CHECK(rank_geometry(source->config(), options).error().text.find("1, 2 or 4")
        != std::string::npos);
  options.tp_degree = 2;
  options.tp_rank = 2;
  CHECK(rank_geometry(source->config(), options).error().why
        == baton::protocol::reason::out_of_range);
  options.tp_rank = 1;
  CHECK(rank_geometry(source->config(), options).ok());
  std::vector<std::byte> memory(64);
  auto alone = make_llama_executor(source, options, {memory.data(), 1}, nullptr);
  REQUIRE_FALSE(alone.ok());
  CHECK(alone.error().text.find("group: is required") != std::string::npos);
}
