// What a device runs its plans with: the model (real or synthetic) without any thread of its own.
//
//   device (one thread, FIFO) ──run(plan)──▶ executor ──▶ KV arena, collective, results
#pragma once

#include "gpu/device.hpp"

#include <vector>

namespace baton::gpu {

/// One rank's forward pass. run() is called from one thread at a time; poison() from any thread.
class executor {
public:
  virtual ~executor() = default;

  /// The shape of the model and of this rank's KV blocks.
  virtual const gpu::geometry& shape() const = 0;

  /// Runs every slice of the plan; results are in the order of the slices. Fails with bad_input or
  /// out_of_range before it touches memory when the plan names a token, block or position that does
  /// not exist, and with group_poisoned when the group's epoch has ended.
  virtual protocol::outcome<std::vector<slice_result>> run(const step_plan& plan) = 0;

  /// Ends the epoch: a running collective gives up at once, and plans of this or an earlier epoch
  /// fail with group_poisoned. Idempotent; the first reason is kept.
  virtual void poison(std::uint64_t epoch, const std::string& why) = 0;
};

} // namespace baton::gpu
