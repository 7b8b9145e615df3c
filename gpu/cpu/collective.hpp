// Host collectives between the ranks of one group: processes or threads on one host.
//
//   rank 0: [schedule|data] ──arrive──┐
//   rank 1: [schedule|data] ──arrive──┼─▶ all schedules equal? ─▶ read the others' data, fixed
// order
//   rank 2: [schedule|data] ──arrive──┘        └ no ─▶ poison, both schedules in the reason
//
// No rank reads another's data before it has seen that all are in the same operation, and every
// wait is bounded: a group that cannot agree is poisoned, it never hangs and never combines
// different layers.
#pragma once

#include "protocol/outcome.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace baton::gpu {

enum class collective_op : std::uint32_t { all_gather, all_reduce_sum, reduce_scatter };
enum class collective_dtype : std::uint32_t { f32 };

/// What a rank believes it is doing. All ranks' schedules must be equal.
struct schedule {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint32_t layer = 0; ///< the number of layers for what follows the last layer
  std::uint32_t phase = 0; ///< which of a layer's collectives: see collective_phase
};

/// The collectives of a forward pass, in their order within a layer.
enum class collective_phase : std::uint32_t { attention_out, mlp_out, logits };

struct collective_limits {
  std::int64_t wait_ms = 10'000;         ///< for the slowest rank; then the group is poisoned
  std::uint64_t slot_bytes = 1ULL << 20; ///< per rank and buffer; larger operations go in parts
  std::uint32_t spins = 2000;            ///< polls before a waiter sleeps
};

/// One rank's end of a group. Operations are called by one thread at a time; poison by any.
class collective {
public:
  virtual ~collective() = default;

  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t ranks() const = 0;

  /// all[r * count + i] = rank r's mine[i]. Fails with group_poisoned, after which every operation
  /// of every rank does.
  virtual protocol::failure all_gather(const schedule& s, const float* mine, std::size_t count,
                                       float* all)
    = 0;

  /// out[i] = the sum over ranks of in[i], added as a balanced tree in rank order:
  /// ((r0 + r1) + (r2 + r3)) for four ranks. `out` may be `in`.
  virtual protocol::failure all_reduce_sum(const schedule& s, const float* in, std::size_t count,
                                           float* out)
    = 0;

  /// out[i] = the sum over ranks of in[rank() * count_each + i], in the order of all_reduce_sum.
  /// in: float[ranks()][count_each], out: float[count_each].
  virtual protocol::failure reduce_scatter(const schedule& s, const float* in,
                                           std::size_t count_each, float* out)
    = 0;

  /// Ends the group for all ranks: whoever waits wakes at once. The first reason is kept.
  virtual void poison(const std::string& why) = 0;
};

/// Joins a group of processes over POSIX shared memory. Rank 0 creates the segment under `name`
/// (which the caller draws at random per incarnation of the group; "/" and up to 200 of
/// [A-Za-z0-9._-]), the others open it. Returns when all have joined, and the name is gone by then;
/// fails with peer_lost after limits.wait_ms. Ranks and limits must be equal everywhere, or the
/// later comer fails with manifest_mismatch.
protocol::outcome<std::unique_ptr<collective>>
join_shared_group(const std::string& name, std::uint32_t rank, std::uint32_t ranks,
                  const collective_limits& limits);

/// The same between threads of this process (or its later forks): element r is rank r's end.
protocol::outcome<std::vector<std::unique_ptr<collective>>>
make_local_group(std::uint32_t ranks, const collective_limits& limits);

} // namespace baton::gpu
