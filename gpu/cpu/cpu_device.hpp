// The device that runs an executor on a thread of its own, one plan after the other.
//
//   enqueue ─▶ [plan][plan][quiesce 7][plan] ─▶ thread: run ─▶ sink(plan_completed | plan_failed)
//                                                        └───▶ sink(device_quiesced 7)
#pragma once

#include "gpu/executor.hpp"

#include <memory>

namespace baton::gpu {

/// Plans that may wait in a device's queue; one more fails at once with queue_full.
inline constexpr std::size_t device_queue_plans_max = 1024;

/// A device with its own thread. Every event, also a refusal, is delivered on that thread, in the
/// order of the calls. Poisoning fails waiting plans of that epoch or an earlier one, and plans of
/// them enqueued later. Destruction fails what is queued with shutting_down, wakes a running
/// collective (by poisoning it) and joins; no event follows it.
std::unique_ptr<device> make_cpu_device(std::unique_ptr<executor> executor, device_sink sink);

} // namespace baton::gpu
