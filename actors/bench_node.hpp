// One rank of a bench: an arena, the product's own endpoint over it, and what has come to pass.
#pragma once

#include "actors/bench_raw.hpp"
#include "transport/ucx.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

namespace baton::actors::bench {

/// What a bench moves between one pair of ranks. Block i of the arena belongs to lane
/// i / blocks_per_lane; the last lane may be followed by a short one.
struct workload {
  std::uint32_t lanes = 1;
  std::uint32_t blocks_per_lane = 512;
  std::uint64_t block_bytes = 5ULL << 19;
  std::uint32_t short_lane_blocks = 0; ///< of one further lane
  bool neighbouring = false; ///< a lane's blocks follow each other in memory; else in no order
  transport::integrity check = transport::integrity::off;

  std::uint32_t blocks() const { return lanes * blocks_per_lane + short_lane_blocks; }
  std::uint64_t bytes() const { return blocks() * block_bytes; }
};

enum class side : std::uint8_t { source, destination };

class bench_node {
public:
  static constexpr transport::incarnation life_of(side s) {
    return {1, s == side::source ? 10U : 20U};
  }

  /// Ends the process with the reason when the endpoint cannot be made.
  bench_node(side here, transport::path_kind path, const workload& load);

  /// Both sides' descriptors have been swapped; returns when the channel is up.
  void connect(std::vector<std::byte> peer);
  std::vector<std::byte> descriptor() const { return endpoint_->descriptor(); }
  std::string path() const { return path_; }

  /// Destination: grants a lane of a round, and waits until it is admitted.
  void admit(std::uint64_t round, std::uint32_t lane);
  /// Source: offers `count` blocks of a lane, from its block `first` on.
  void offer(std::uint64_t round, std::uint32_t lane, std::uint32_t first, std::uint32_t count);
  /// Destination: waits for so many landed blocks of a lane, and sends the receipt of a whole one.
  void wait_landed(std::uint64_t round, std::uint32_t lane, std::uint32_t blocks);
  std::uint32_t blocks_of(std::uint32_t lane) const;
  /// Returns at that moment of the monotonic clock.
  void wait_until(std::chrono::steady_clock::time_point moment);

  /// Every block of the arena, in this side's order.
  block_list blocks() const;

private:
  void record(const transport::transfer_event& e);
  template <class Condition>
  void wait(const char* what, Condition condition);
  std::uint64_t offset_of(std::uint32_t lane, std::uint32_t piece) const;
  transport::block_ref block_of(std::uint32_t lane, std::uint32_t piece) const;

  side side_;
  workload load_;
  transport::arena memory_;
  std::vector<std::uint32_t> order_; ///< where each block lies here
  std::vector<std::uint32_t> named_; ///< and at the destination, whose numbers name them
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<transport::lane_id, std::uint32_t> landed_;
  struct {
    transport::lane_id lane;
    std::uint32_t blocks = 0;
  } awaited_; ///< what wait_landed() waits for: nothing less wakes it
  std::uint64_t admitted_ = 0;
  std::uint64_t grants_ = 0;
  bool connected_ = false;
  std::string path_;
  std::unique_ptr<transport::endpoint> endpoint_; ///< last: its thread calls record()
};

} // namespace baton::actors::bench
