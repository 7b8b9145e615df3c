// The two devices of a rank without their threads: what they are asked to do waits in queues until
// the test's schedule picks it. The actors in front of them are the product's, and so is the table
// of grants; only the moving of bytes is left out.
#pragma once

#include "gpu/device.hpp"
#include "transport/lane_table.hpp"

#include <deque>
#include <functional>
#include <map>
#include <string>

namespace baton::tests {

/// Work that keeps its order within a queue, and none between queues.
class device_work {
public:
  void add(const std::string& queue, const char* what, std::function<void()> work);
  std::size_t queues() const { return queues_.size(); }
  /// Does the oldest work of the queue with that number; says whose and what it was.
  std::string run(std::size_t queue);

private:
  struct item {
    const char* what;
    std::function<void()> work;
  };
  std::map<std::string, std::deque<item>> queues_; ///< none is empty
};

/// One node's endpoint. Commands run in order; what it says to a peer arrives in order; each
/// receive ends whenever it likes.
class stepped_endpoint final : public transport::endpoint {
public:
  using peer_map = std::map<protocol::node_name, stepped_endpoint*>;

  stepped_endpoint(protocol::node_name name, protocol::incarnation life, std::uint64_t arena_bytes,
                   const peer_map& peers, device_work& work, transport::transfer_sink sink);

  std::vector<std::byte> descriptor() const override { return {}; }
  void connect(protocol::node_name, protocol::incarnation, std::vector<std::byte>) override {}
  void disconnect(protocol::node_name) override {}
  void admit(transport::lane_grant grant) override;
  void revoke(protocol::lane_id lane, protocol::node_name source) override;
  void send_receipt(protocol::lane_id lane, protocol::node_name source) override;
  void offer(protocol::node_name destination, transport::piece_offer offer) override;
  void offer_payload(protocol::node_name destination, protocol::lane_id lane, std::uint32_t piece,
                     std::vector<std::byte> bytes) override;
  void withdraw(protocol::lane_id, protocol::node_name) override {} // all are posted already
  void query(protocol::lane_id lane, protocol::node_name destination) override;
  counters read_counters() const override { return {}; }

private:
  using bytes = std::vector<std::byte>;

  void command(const char* what, std::function<void()> run);
  void tell(const protocol::node_name& peer, const char* what,
            std::function<void(stepped_endpoint&)> hear);
  void arrive(const stepped_endpoint& source, const transport::wire::part_header& offered,
              bytes payload);
  void end_receive(const transport::part_key& key, const bytes& payload);
  void stop_if_quiet(const protocol::lane_id& lane);
  void answer(const protocol::lane_id& lane, const protocol::node_name& source);

  const protocol::node_name name_;
  const protocol::incarnation life_;
  const peer_map& peers_;
  device_work& work_;
  transport::transfer_sink sink_;
  transport::lane_table table_;
  std::map<protocol::lane_id, protocol::node_name> stopping_; ///< with their sources
};

/// One rank's compute device: each plan completes when the schedule says so, with token 7.
class stepped_device final : public gpu::device {
public:
  stepped_device(const protocol::node_name& name, std::uint32_t hidden, device_work& work,
                 gpu::device_sink sink)
    : queue_("kernels " + name.value), hidden_(hidden), work_(work), sink_(std::move(sink)) {}

  void enqueue(gpu::step_plan plan) override;
  void quiesce(std::uint64_t) override {}
  void poison(std::uint64_t, std::string) override {} // no group loses a rank here

private:
  const std::string queue_;
  const std::uint32_t hidden_;
  device_work& work_;
  gpu::device_sink sink_;
};

} // namespace baton::tests
